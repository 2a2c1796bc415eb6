// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/row_cut.hpp>

#include <batchcast/core/inline.hpp>

#include <algorithm>

namespace batchcast::inline v0_1 {
namespace detail::row_cut {

/// The least n in [1, most] for which the first n samples have at least `rows` rows; most + 1 if
/// there is none.
inline std::uint64_t samples_with(const RowTable& table, std::uint64_t start, std::uint64_t most,
                                  std::uint64_t rows) noexcept {
  const std::uint64_t wanted = table.at(start).first + rows;
  std::uint64_t low = 1;
  std::uint64_t high = most + 1;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (table.at(start + middle - 1).end() >= wanted) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

}  // namespace detail::row_cut

BATCHCAST_INLINE RowCut::Found RowCut::cut(const RowTable& table, const RowBudget& budget,
                                           std::uint64_t samples_max, const There& there) {
  runs_.clear();
  dropped_ = 0;
  at_ = there.begin;
  while (runs_.size() < wanted_) {
    const Found found = find_run(table, budget, samples_max, there);
    if (found == Found::none) return split(table);
    if (found != Found::batch) return found;
  }
  end_ = at_;
  return Found::batch;
}

/// Adds the run that begins at `at_`. `none`: the epoch has no more samples.
BATCHCAST_INLINE RowCut::Found RowCut::find_run(const RowTable& table, const RowBudget& budget,
                                                std::uint64_t samples_max, const There& there) {
  for (; at_ < there.end && table.at(at_).rows > budget.rows; ++at_, ++dropped_) {
    if (budget.oversize == Oversize::drop) continue;
    if (budget.oversize == Oversize::error) return Found::oversized;
    runs_.push_back({at_, 1, table.at(at_).rows, true});
    ++at_;
    return Found::batch;
  }
  if (at_ >= there.end) return there.is_final ? Found::none : Found::more;
  const std::uint64_t most = std::min(samples_max, there.end - at_);
  std::uint64_t samples = detail::row_cut::samples_with(table, at_, most, budget.rows);
  bool is_complete = samples <= most || most == samples_max || there.is_final;
  if (samples > most) {
    samples = most;
  } else if (table.of(at_, samples).rows != budget.rows && samples > 1) {
    --samples;  // the last of these does not fit
  }
  const std::uint64_t rows = table.of(at_, samples).rows;
  if (!is_complete && there.next_rows) {
    is_complete = *there.next_rows > saturating_sub(budget.rows, rows);
  }
  if (!is_complete) return Found::more;
  runs_.push_back({at_, samples, rows, false});
  at_ += samples;
  return Found::batch;
}

/// At an epoch's end: fewer runs than ranks. The one with most rows is cut in two at the sample
/// that is nearest to its middle, until there are enough.
BATCHCAST_INLINE RowCut::Found RowCut::split(const RowTable& table) {
  end_ = at_;
  while (!runs_.empty() && runs_.size() < wanted_) {
    auto most = runs_.end();
    for (auto run = runs_.begin(); run != runs_.end(); ++run) {
      if (run->size > 1 && (most == runs_.end() || run->rows > most->rows)) most = run;
    }
    if (most == runs_.end()) return Found::none;
    const RowRun whole = *most;
    const std::uint64_t half = (whole.rows + 1) / 2;
    std::uint64_t left = detail::row_cut::samples_with(table, whole.start, whole.size - 1, half);
    left = std::min(left, whole.size - 1);
    if (left > 1) {
      const std::uint64_t with = table.of(whole.start, left).rows;
      const std::uint64_t without = table.of(whole.start, left - 1).rows;
      if (with > half && half - std::min(half, without) < with - half) --left;
    }
    // Samples without rows at the cut belong to the second half.
    const std::uint64_t rows = table.of(whole.start, left).rows;
    left = rows == 0 ? 1 : detail::row_cut::samples_with(table, whole.start, left, rows);
    *most = {whole.start, left, rows, false};
    runs_.insert(most + 1, {whole.start + left, whole.size - left, whole.rows - rows, false});
  }
  return runs_.empty() ? Found::none : Found::batch;
}

}  // namespace batchcast::inline v0_1
