// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// Bins by the space that they have left. Putting and taking are a few steps each, for any number
/// of bins and of spaces, and allocate nothing. Of equal spaces the last one put comes out first,
/// so a run of calls has one result on every machine. Not for several threads.
class SpaceIndex {
 public:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  /// For spaces up to `space_max`. Beyond 2^18 of them, neighbouring ones count as one.
  SpaceIndex(std::uint64_t space_max, std::size_t bins_max) : next_(bins_max) {
    while ((space_max >> shift_) >= places_max) ++shift_;
    std::size_t places = static_cast<std::size_t>(space_max >> shift_) + 1;
    heads_.resize(places);
    for (std::vector<std::uint64_t>& level : levels_) {
      places = (places + 63) / 64;
      level.resize(places);
    }
  }

  void clear() noexcept {
    for (std::vector<std::uint64_t>& level : levels_) {
      for (std::uint64_t& word : level) word = 0;
    }
  }

  /// The bin must not be inside.
  void put(std::uint32_t bin, std::uint64_t space) noexcept {
    std::size_t place = static_cast<std::size_t>(space >> shift_);
    next_[bin] = is_set(place) ? heads_[place] : none;
    heads_[place] = bin;
    for (std::vector<std::uint64_t>& level : levels_) {
      level[place / 64] |= std::uint64_t{1} << (place % 64);
      place /= 64;
    }
  }

  /// Takes the bin with the least space of those with at least `rows`; `none` where there is none.
  [[nodiscard]] std::uint32_t take_at_least(std::uint64_t rows) noexcept {
    const std::uint64_t unit = (std::uint64_t{1} << shift_) - 1;
    return take(first_from(static_cast<std::size_t>((rows + unit) >> shift_)));
  }

  /// Takes the bin with the most space; `none` where there is none.
  [[nodiscard]] std::uint32_t take_largest() noexcept {
    if (levels_.back()[0] == 0) return none;
    std::size_t place = 0;
    for (std::size_t level = levels_.size(); level-- > 0;) {
      place = place * 64 + 63 - static_cast<std::size_t>(std::countl_zero(levels_[level][place]));
    }
    return take(place);
  }

 private:
  static constexpr std::size_t places_max = std::size_t{1} << 18;
  static constexpr std::size_t no_place = ~std::size_t{0};

  [[nodiscard]] bool is_set(std::size_t place) const noexcept {
    return ((levels_[0][place / 64] >> (place % 64)) & 1) != 0;
  }

  [[nodiscard]] std::size_t first_from(std::size_t place) const noexcept {
    for (std::size_t level = 0; level < levels_.size(); ++level) {
      if (place / 64 >= levels_[level].size()) return no_place;
      const std::uint64_t above = levels_[level][place / 64] >> (place % 64);
      if (above == 0) {
        place = place / 64 + 1;
        continue;
      }
      place += static_cast<std::size_t>(std::countr_zero(above));
      while (level-- > 0) {
        place = place * 64 + static_cast<std::size_t>(std::countr_zero(levels_[level][place]));
      }
      return place;
    }
    return no_place;
  }

  [[nodiscard]] std::uint32_t take(std::size_t place) noexcept {
    if (place == no_place) return none;
    const std::uint32_t bin = heads_[place];
    heads_[place] = next_[bin];
    if (next_[bin] != none) return bin;
    for (std::vector<std::uint64_t>& level : levels_) {
      level[place / 64] &= ~(std::uint64_t{1} << (place % 64));
      if (level[place / 64] != 0) break;
      place /= 64;
    }
    return bin;
  }

  unsigned shift_ = 0;
  std::array<std::vector<std::uint64_t>, 3> levels_;  ///< a bit for each place, or word below
  std::vector<std::uint32_t> heads_;                  ///< by place, where its bit is set
  std::vector<std::uint32_t> next_;                   ///< by bin
};

}  // namespace batchcast::inline v0_1::detail
