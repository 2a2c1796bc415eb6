// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/stage/policy_space.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

// The picture of which tests/oracle/policy_table.py has made tables, and its digests.
namespace batchcast::test {

using Pixels = std::vector<std::uint8_t>;

inline constexpr ImageSize picture_size{31, 23};
inline constexpr std::array<std::uint8_t, 3> policy_fill = {10, 200, 90};

inline Pixels policy_picture() {
  Pixels pixels;
  for (std::int32_t y = 0; y < picture_size.height; ++y) {
    for (std::int32_t x = 0; x < picture_size.width; ++x) {
      pixels.push_back(static_cast<std::uint8_t>((7 * x + 3 * y) % 256));
      pixels.push_back(static_cast<std::uint8_t>((x * x + 5 * y) % 223 + 20));
      pixels.push_back(static_cast<std::uint8_t>((11 * y * y + x) % 190));
    }
  }
  return pixels;
}

/// FNV-1a of 64 bits.
inline std::string digest(const Pixels& pixels) {
  std::uint64_t value = 0xcbf29ce484222325;
  for (const std::uint8_t byte : pixels) value = (value ^ byte) * 0x100000001b3;
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016lx", static_cast<unsigned long>(value));
  return text.data();
}

inline detail::Operation operation_named(std::string_view name) {
  const auto found = std::ranges::find(detail::operation_names, name);
  if (found == detail::operation_names.end()) {
    throw std::logic_error("no operation " + std::string(name));
  }
  return static_cast<detail::Operation>(found - detail::operation_names.begin());
}

}  // namespace batchcast::test
