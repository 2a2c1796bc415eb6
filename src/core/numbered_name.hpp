// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/limits.hpp>
#include <batchcast/core/text.hpp>

#include <string>

namespace batchcast::inline v0_1 {

/// `wanted` if `is_taken(wanted)` is false, else the first free one of `wanted-2`, `wanted-3`, ….
/// It is no longer than a consumer's name may be: the end of `wanted` makes room for the number.
template <class IsTaken>
[[nodiscard]] std::string numbered_name(const std::string& wanted, IsTaken&& is_taken) {
  std::string name = wanted;
  for (int number = 2; is_taken(name); ++number) {
    const std::string suffix = text("-{}", number);
    name = wanted.substr(0, limits::consumer_name_bytes_max - suffix.size()) + suffix;
  }
  return name;
}

}  // namespace batchcast::inline v0_1
