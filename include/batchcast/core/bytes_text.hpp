// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/text.hpp>

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>

// Amounts of memory in messages.
namespace batchcast::inline v0_1 {

/// `1.50 GiB`, `2.0 MiB`, `64.0 KiB`, `12 bytes`.
[[nodiscard]] inline std::string bytes_text(std::uint64_t bytes) {
  const auto value = static_cast<double>(bytes);
  std::array<char, 32> shown{};
  if (bytes >= std::uint64_t{1} << 30) {
    std::snprintf(shown.data(), shown.size(), "%.2f GiB", value / (1 << 30));
  } else if (bytes >= 1 << 20) {
    std::snprintf(shown.data(), shown.size(), "%.1f MiB", value / (1 << 20));
  } else if (bytes >= 1 << 10) {
    std::snprintf(shown.data(), shown.size(), "%.1f KiB", value / (1 << 10));
  } else {
    return text("{} byte{}", bytes, bytes == 1 ? "" : "s");
  }
  return shown.data();
}

/// An amount that is enough for `bytes`, as `--memory` takes it: `99KiB`, from 16 MiB on `37MiB`.
[[nodiscard]] inline std::string memory_argument(std::uint64_t bytes) {
  const unsigned shift = bytes < std::uint64_t{16} << 20 ? 10 : 20;
  const std::uint64_t unit = std::uint64_t{1} << shift;
  const std::uint64_t units = (bytes >> shift) + (bytes % unit == 0 ? 0 : 1);
  return text("{}{}", units, shift == 10 ? "KiB" : "MiB");
}

}  // namespace batchcast::inline v0_1
