// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/codec/exif.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace batchcast::inline v0_1::detail {
namespace {

constexpr std::size_t header_bytes = 8;
constexpr std::size_t entry_bytes = 12;
constexpr std::uint32_t tag_orientation = 0x0112;
constexpr std::uint32_t type_short = 3;
constexpr std::uint32_t type_long = 4;

struct Tiff {
  std::span<const std::byte> bytes;
  bool big_endian;

  [[nodiscard]] std::uint32_t number(std::size_t at, std::size_t size) const noexcept {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t digit = big_endian ? i : size - 1 - i;
      value = value << 8U | std::to_integer<std::uint32_t>(bytes[at + digit]);
    }
    return value;
  }
};

int orientation_of_entry(const Tiff& tiff, std::size_t entry) noexcept {
  const std::uint32_t type = tiff.number(entry + 2, 2);
  if (tiff.number(entry + 4, 4) != 1 || (type != type_short && type != type_long)) return 1;
  const std::uint32_t value = tiff.number(entry + 8, type == type_short ? 2 : 4);
  return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
}

}  // namespace

int exif_orientation(std::span<const std::byte> exif) noexcept {
  constexpr char prefix[6] = {'E', 'x', 'i', 'f', '\0', '\0'};
  if (exif.size() >= sizeof prefix && std::memcmp(exif.data(), prefix, sizeof prefix) == 0) {
    exif = exif.subspan(sizeof prefix);
  }
  if (exif.size() < header_bytes + 2) return 1;
  const bool big_endian = std::memcmp(exif.data(), "MM", 2) == 0;
  if (!big_endian && std::memcmp(exif.data(), "II", 2) != 0) return 1;
  const Tiff tiff{exif, big_endian};
  const std::size_t directory = tiff.number(4, 4);
  if (tiff.number(2, 2) != 42 || directory > exif.size() - 2) return 1;

  const std::size_t first = directory + 2;
  const std::size_t entries =
      std::min<std::size_t>(tiff.number(directory, 2), (exif.size() - first) / entry_bytes);
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t entry = first + i * entry_bytes;
    if (tiff.number(entry, 2) == tag_orientation) return orientation_of_entry(tiff, entry);
  }
  return 1;
}

std::optional<std::span<const std::byte>> exif_of_app1(
    std::span<const std::byte> content) noexcept {
  constexpr char prefix[5] = {'E', 'x', 'i', 'f', '\0'};
  constexpr std::size_t prefix_bytes = 6;  // the last may be anything
  if (content.size() < prefix_bytes) return std::nullopt;
  if (std::memcmp(content.data(), prefix, sizeof prefix) != 0) return std::nullopt;
  return content.subspan(prefix_bytes);
}

}  // namespace batchcast::inline v0_1::detail
