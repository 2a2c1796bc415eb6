// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/source/known_format.hpp"

#include <batchcast/core/text.hpp>

#include <algorithm>
#include <array>
#include <cstring>

namespace batchcast::inline v0_1::detail {
namespace {

using namespace std::string_view_literals;

struct Format {
  std::string_view signature;  ///< what files begin with; empty where that alone says too little
  std::string_view description;
  std::string_view unpacker;  ///< empty where it is not a compressed file
};

/// In the order of KnownFormat.
constexpr std::array formats = {
    Format{"PK\x03\x04"sv, "a zip archive, as .npz and .pt files are", ""},
    Format{"", "compressed with gzip", "gzip -dk"},
    Format{"\x28\xb5\x2f\xfd"sv, "compressed with Zstandard", "zstd -d"},
    Format{"\xfd\x37zXZ\0"sv, "compressed with xz", "xz -dk"},
    Format{"", "compressed with bzip2", "bzip2 -dk"},
    Format{"\x04\x22\x4d\x18"sv, "compressed with lz4", "lz4 -dk"},
    Format{"", "a Parquet file", ""},
    Format{"ARROW1\0\0"sv, "an Arrow file", ""},
    Format{"\x89HDF\r\n\x1a\n"sv, "an HDF5 file", ""},
    Format{"", "a safetensors file", ""},
};
static_assert(formats.size() == static_cast<std::size_t>(KnownFormat::safetensors) + 1);

const Format& row_of(KnownFormat format) { return formats[static_cast<std::size_t>(format)]; }

unsigned at(std::string_view file, std::size_t i) { return static_cast<unsigned char>(file[i]); }

// Two fixed bytes, deflate, no reserved flag, and a compression level and system that exist.
bool is_gzip(std::string_view file) {
  return file.size() > 18 && file.starts_with("\x1f\x8b\x08"sv) && at(file, 3) < 0x20 &&
         (at(file, 8) == 0 || at(file, 8) == 2 || at(file, 8) == 4) &&
         (at(file, 9) < 14 || at(file, 9) == 255);
}

bool is_bzip2(std::string_view file) {
  return file.starts_with("BZh") &&
         file.substr(std::min<std::size_t>(file.size(), 4)).starts_with("1AY&SY");
}

// safetensors begins with the length of a JSON object, and its first characters.
bool is_safetensors(std::string_view file) {
  std::uint64_t length = 0;
  if (file.size() <= sizeof length) return false;
  std::memcpy(&length, file.data(), sizeof length);
  return length >= 2 && length <= file.size() - sizeof length &&
         file.substr(sizeof length).starts_with("{\"");
}

}  // namespace

std::optional<KnownFormat> known_format(std::span<const std::byte> bytes) noexcept {
  const std::string_view file(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (std::size_t i = 0; i < formats.size(); ++i) {
    const std::string_view begin = formats[i].signature;
    if (!begin.empty() && file.starts_with(begin)) return static_cast<KnownFormat>(i);
  }
  if (is_gzip(file)) return KnownFormat::gzip;
  if (is_bzip2(file)) return KnownFormat::bzip2;
  if (file.size() > 8 && file.starts_with("PAR1") && file.ends_with("PAR1")) {
    return KnownFormat::parquet;
  }
  if (is_safetensors(file)) return KnownFormat::safetensors;
  return std::nullopt;
}

std::string_view description_of(KnownFormat format) noexcept { return row_of(format).description; }

std::string unpacking_command(KnownFormat format, std::string_view path) {
  const std::string_view unpacker = row_of(format).unpacker;
  return unpacker.empty() ? "" : text("{} {}", unpacker, path);
}

}  // namespace batchcast::inline v0_1::detail
