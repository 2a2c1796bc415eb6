// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/source/known_format.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace batchcast::inline v0_1::detail {
namespace {

using namespace std::string_view_literals;

struct Signature {
  KnownFormat format;
  std::string_view bytes;
};

constexpr std::array signatures = {
    Signature{KnownFormat::zip, "PK\x03\x04"sv},
    Signature{KnownFormat::zstandard, "\x28\xb5\x2f\xfd"sv},
    Signature{KnownFormat::xz, "\xfd\x37zXZ\0"sv},
    Signature{KnownFormat::lz4, "\x04\x22\x4d\x18"sv},
    Signature{KnownFormat::arrow, "ARROW1\0\0"sv},
    Signature{KnownFormat::hdf5, "\x89HDF\r\n\x1a\n"sv},
};

unsigned at(std::string_view file, std::size_t i) { return static_cast<unsigned char>(file[i]); }

// Its own two bytes, deflate, no reserved flag, and a compression level and system that exist.
bool is_gzip(std::string_view file) {
  return file.size() > 18 && file.starts_with("\x1f\x8b\x08"sv) && at(file, 3) < 0x20 &&
         (at(file, 8) == 0 || at(file, 8) == 2 || at(file, 8) == 4) &&
         (at(file, 9) < 14 || at(file, 9) == 255);
}

bool is_bzip2(std::string_view file) {
  return file.starts_with("BZh") &&
         file.substr(std::min<std::size_t>(file.size(), 4)).starts_with("1AY&SY");
}

// The length of a JSON object, and its first characters.
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
  for (const Signature& signature : signatures) {
    if (file.starts_with(signature.bytes)) return signature.format;
  }
  if (is_gzip(file)) return KnownFormat::gzip;
  if (is_bzip2(file)) return KnownFormat::bzip2;
  if (file.size() > 8 && file.starts_with("PAR1") && file.ends_with("PAR1")) {
    return KnownFormat::parquet;
  }
  if (is_safetensors(file)) return KnownFormat::safetensors;
  return std::nullopt;
}

std::string_view description_of(KnownFormat format) noexcept {
  switch (format) {
    case KnownFormat::zip:
      return "a zip archive, as .npz and .pt files are";
    case KnownFormat::gzip:
      return "compressed with gzip";
    case KnownFormat::zstandard:
      return "compressed with Zstandard";
    case KnownFormat::xz:
      return "compressed with xz";
    case KnownFormat::bzip2:
      return "compressed with bzip2";
    case KnownFormat::lz4:
      return "compressed with lz4";
    case KnownFormat::parquet:
      return "a Parquet file";
    case KnownFormat::arrow:
      return "an Arrow file";
    case KnownFormat::hdf5:
      return "an HDF5 file";
    case KnownFormat::safetensors:
      break;
  }
  return "a safetensors file";
}

std::string unpacking_command(KnownFormat format, std::string_view path) {
  const auto with = [&](std::string_view program) {
    return std::string(program) + " " + std::string(path);
  };
  switch (format) {
    case KnownFormat::gzip:
      return with("gzip -dk");
    case KnownFormat::zstandard:
      return with("zstd -d");
    case KnownFormat::xz:
      return with("xz -dk");
    case KnownFormat::bzip2:
      return with("bzip2 -dk");
    case KnownFormat::lz4:
      return with("lz4 -dk");
    default:
      return {};
  }
}

}  // namespace batchcast::inline v0_1::detail
