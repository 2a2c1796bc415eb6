// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/window_cut.hpp>

#include <batchcast/core/inline.hpp>

namespace batchcast::inline v0_1 {

BATCHCAST_INLINE WindowCut::Found WindowCut::cut(const RowTable& table, const RowWindow& window,
                                                 Tail tail, const There& there) {
  const auto& [begin, row] = there.begin;
  first_row_ = there_ = runs_ = 0;
  is_padded_ = false;
  if (begin < there.end) {
    const RowRange sample = table.at(begin);
    if (row != 0 && row >= sample.rows) return Found::gone;
    first_row_ = sample.first + row;
    there_ = table.at(there.end - 1).end() - first_row_;
  }
  const std::uint64_t ranks = bounds_.size() - 1;
  const std::uint64_t whole = ranks * window.runs * window.rows;
  const bool is_whole = there_ >= whole + window.extra;
  if (!is_whole && !there.is_final) return Found::more;
  runs_ = window.runs;
  if (!is_whole) {
    // Rows that are only what the last run shows besides are no run.
    if (tail == Tail::drop || there_ <= window.extra) return Found::none;
    if (tail == Tail::keep) runs_ = (there_ - window.extra) / window.rows / ranks;
    if (runs_ == 0) return Found::none;
    is_padded_ = tail == Tail::pad;
  }
  find_bounds(table, window, there);
  return Found::batch;
}

BATCHCAST_INLINE void WindowCut::find_bounds(const RowTable& table, const RowWindow& window,
                                             const There& there) noexcept {
  bounds_[0] = there.begin;
  for (std::size_t i = 1; i < bounds_.size(); ++i) {
    const std::uint64_t passed = i * runs_ * window.rows;
    // Padding goes to the epoch's end, samples without rows there included.
    bounds_[i] = is_padded_ && passed >= there_
                     ? RowPlace{there.end, 0}
                     : place_of(table, bounds_[i - 1].position, there.end, first_row_ + passed);
  }
}

BATCHCAST_INLINE RowPlace WindowCut::place_of(const RowTable& table, std::uint64_t begin,
                                              std::uint64_t end, std::uint64_t row) noexcept {
  std::uint64_t low = begin;
  while (low + 1 < end) {
    const std::uint64_t middle = low + (end - low) / 2;
    if (table.at(middle - 1).end() >= row) {
      end = middle;
    } else {
      low = middle;
    }
  }
  const RowRange sample = table.at(low);
  return sample.end() <= row ? RowPlace{low + 1, 0} : RowPlace{low, row - sample.first};
}

}  // namespace batchcast::inline v0_1
