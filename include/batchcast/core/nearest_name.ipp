// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/nearest_name.hpp>
#include <batchcast/core/text.hpp>

#include <batchcast/core/inline.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace batchcast::inline v0_1::detail {
namespace spelling {

// Capitals, and hyphen or underscore, make no difference.
inline char folded(char c) noexcept {
  if (c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
  return c == '-' ? '_' : c;
}

// The number of characters to insert, delete, replace or swap with their neighbour.
inline std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last;
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = folded(a[i - 1]) == folded(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && folded(a[i - 1]) == folded(b[j - 2]) &&
          folded(a[i - 2]) == folded(b[j - 1])) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
    before_last = last;
    last = row;
  }
  return last[b.size()];
}

// Part of a name, such as `crop` for `random_crop`, is near too, but farther than any typing error.
inline bool is_part_of(std::string_view a, std::string_view b) {
  constexpr std::size_t telling = 4;
  const auto contains = [](std::string_view whole, std::string_view part) {
    return part.size() >= telling &&
           std::search(whole.begin(), whole.end(), part.begin(), part.end(),
                       [](char x, char y) { return folded(x) == folded(y); }) != whole.end();
  };
  return contains(a, b) || contains(b, a);
}

}  // namespace spelling

BATCHCAST_INLINE std::string nearest_name(std::string_view wanted,
                                          std::span<const std::string> names) {
  constexpr std::size_t longest = 64;  // the work is quadratic, and names are shorter
  if (wanted.empty() || wanted.size() > longest) return {};
  std::string_view nearest;
  std::string_view related;
  std::size_t least = std::max<std::size_t>(1, wanted.size() / 3) + 1;
  for (const std::string& name : names) {
    if (const std::size_t d = spelling::distance(wanted, name); d < least) {
      least = d;
      nearest = name;
    }
    if (related.empty() && spelling::is_part_of(wanted, name)) related = name;
  }
  return std::string(nearest.empty() ? related : nearest);
}

BATCHCAST_INLINE std::string did_you_mean(std::string_view wanted,
                                          std::span<const std::string> names) {
  const std::string nearest = nearest_name(wanted, names);
  return nearest.empty() ? "" : text(" Did you mean `{}`?", nearest);
}

}  // namespace batchcast::inline v0_1::detail
