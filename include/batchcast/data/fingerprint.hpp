// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/language.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace batchcast::inline v0_1 {

/// 128 bits that stand for something larger, such as an index of files or a recipe.
struct Fingerprint {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  /// 32 hexadecimal digits.
  [[nodiscard]] std::string to_hex() const;
  friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
};

[[nodiscard]] Fingerprint fingerprint_of(std::string_view bytes) noexcept;

}  // namespace batchcast::inline v0_1
