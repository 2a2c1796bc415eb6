// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/codec/format.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace batchcast::inline v0_1::detail {
namespace {

using namespace std::string_view_literals;

struct Signature {
  std::size_t offset;
  std::string_view bytes;
  std::string_view name;
};

constexpr std::array signatures = {
    Signature{0, "GIF8"sv, "a GIF"},
    Signature{0, "BM"sv, "a BMP"},
    Signature{0, "II*\0"sv, "a TIFF"},
    Signature{0, "MM\0*"sv, "a TIFF"},
    Signature{4, "ftypavif"sv, "an AVIF"},
    Signature{4, "ftyphei"sv, "a HEIC"},
    Signature{4, "ftyp"sv, "an MP4 or a relative of it"},
    Signature{0, "\xFF\x0A"sv, "a JPEG XL"},
    Signature{0, "\0\0\0\x0CJXL "sv, "a JPEG XL"},
    Signature{0, "\0\0\0\x0CjP  "sv, "a JPEG 2000"},
    Signature{0, "RIFF"sv, "a RIFF file that is no WebP"},
    Signature{0, "\x89PNG"sv, "a PNG whose line ends were converted as if it were text"},
    Signature{0, "\xFF\xD8"sv, "a JPEG damaged in its first bytes"},
    Signature{0, "%PDF"sv, "a PDF"},
    Signature{0, "\x93NUMPY"sv, "a NumPy array"},
    Signature{0, "\x1F\x8B"sv, "gzip"},
    Signature{0, "\x28\xB5\x2F\xFD"sv, "zstd"},
    Signature{0, "PK\x03\x04"sv, "a zip archive"},
    Signature{257, "ustar"sv, "a tar archive"},
    Signature{0, "version https://git-lfs"sv, "a Git LFS pointer, not the file itself"},
};

std::string_view as_text(std::span<const std::byte> bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool has(std::string_view text, std::size_t offset, std::string_view part) noexcept {
  return text.size() >= offset && text.substr(offset, part.size()) == part;
}

bool is_text(char c) noexcept {
  const auto code = static_cast<unsigned char>(c);
  return code >= 0x20 || c == '\t' || c == '\n' || c == '\r';
}

std::string first_bytes_of(std::string_view content) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text = "bytes that begin with";
  for (const char c : content.substr(0, 8)) {
    const auto code = static_cast<unsigned char>(c);
    text += {' ', digits[code >> 4U], digits[code & 15U]};
  }
  return text;
}

}  // namespace

std::optional<ImageFormat> image_format_of(std::span<const std::byte> encoded) noexcept {
  const std::string_view content = as_text(encoded);
  if (has(content, 0, "\xFF\xD8\xFF"sv)) return ImageFormat::jpeg;
  if (has(content, 0, "\x89PNG\r\n\x1A\n"sv)) return ImageFormat::png;
  if (has(content, 0, "RIFF"sv) && has(content, 8, "WEBP"sv)) return ImageFormat::webp;
  return std::nullopt;
}

std::string describe_content(std::span<const std::byte> bytes) {
  const std::string_view content = as_text(bytes);
  if (content.empty()) return "empty";
  for (const Signature& signature : signatures) {
    if (has(content, signature.offset, signature.bytes)) return std::string(signature.name);
  }
  const std::string_view begin = content.substr(0, 512);
  if (std::all_of(begin.begin(), begin.end(), [](char c) { return c == '\0'; })) return "zeros";
  if (!std::all_of(begin.begin(), begin.end(), is_text)) return first_bytes_of(content);
  const std::size_t word = begin.find_first_not_of(" \t\r\n");
  return word != std::string_view::npos && begin[word] == '<' ? "HTML or XML" : "text";
}

}  // namespace batchcast::inline v0_1::detail
