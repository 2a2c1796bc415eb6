// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/text.hpp>

#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

// Amounts of memory in messages and options.
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
    return text("{} bytes", bytes);
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

/// What `256MiB`, `1.5g` or `4096` say: units of 1024 as k, KiB, m, MiB …, of 1000 as kB, MB …, in
/// any case. Nothing for a text that is no amount of at least one byte.
[[nodiscard]] inline std::optional<std::uint64_t> bytes_in(const std::string& words) {
  constexpr double bytes_max = 9e18;
  static constexpr std::string_view prefixes = "kmgt";
  std::size_t digits = 0;
  double bytes = 0;
  try {
    bytes = std::stod(words, &digits);
  } catch (const std::exception&) {
    return std::nullopt;
  }
  std::string unit;
  for (std::size_t i = digits; i < words.size(); ++i) {
    unit += static_cast<char>(std::tolower(static_cast<unsigned char>(words[i])));
  }
  if (!unit.empty() && unit != "b") {
    const std::size_t power = prefixes.find(unit[0]);
    const std::string_view rest = std::string_view(unit).substr(1);
    if (power == prefixes.npos || !(rest.empty() || rest == "ib" || rest == "b")) {
      return std::nullopt;
    }
    for (std::size_t i = 0; i <= power; ++i) bytes *= rest == "b" ? 1e3 : 1024;
  }
  if (!(bytes >= 1) || bytes > bytes_max) return std::nullopt;
  return static_cast<std::uint64_t>(bytes);
}

/// Why an option refuses that text.
[[nodiscard]] inline std::string no_bytes_in(const std::string& words) {
  return text("`{}` is no amount of memory: write 256MiB, 1GiB, 64k …", words);
}

}  // namespace batchcast::inline v0_1
