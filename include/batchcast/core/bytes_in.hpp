// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/text.hpp>

#include <cctype>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

// Amounts of memory in options.
namespace batchcast::inline v0_1 {

/// The bytes that `256MiB`, `1.5g` or `4096` mean. Units of 1024 are k, KiB, m, MiB …, units of
/// 1000 kB, MB …, in any case. Nothing for a text that is no amount of at least one byte.
[[nodiscard]] inline std::optional<std::uint64_t> bytes_in(const std::string& text) {
  constexpr double bytes_max = 9e18;
  static constexpr std::string_view prefixes = "kmgt";
  std::size_t digits = 0;
  double bytes = 0;
  try {
    bytes = std::stod(text, &digits);
  } catch (const std::exception&) {
    return std::nullopt;
  }
  std::string unit;
  for (std::size_t i = digits; i < text.size(); ++i) {
    unit += static_cast<char>(std::tolower(static_cast<unsigned char>(text[i])));
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
