// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/row_place.hpp>

#include <cstddef>
#include <cstdint>

namespace batchcast::inline v0_1 {

/// A run of positions that a consumer may look at. Never crosses an epoch.
struct Run {
  std::uint64_t position = 0;
  std::uint64_t size = 0;
  std::uint64_t epoch = 0;
  std::uint64_t lease = 0;  ///< to be given back; meaningless for `free` pace
  /// Samples at its end that repeat others: behind position batch_start + batch_size − 1 the
  /// samples begin again at `batch_start`.
  std::uint64_t padding = 0;
  /// The samples that were at the cursor: those of all shares together.
  std::uint64_t batch_start = 0;
  std::uint64_t batch_size = 0;
  /// Of one sample that is truncated: it has at most this many rows on that axis. 0: all.
  std::uint64_t rows_max = 0;
  std::size_t rows_axis = 0;

  // Of a batch that a window cuts: then `position` and `size` are those of the samples that its
  // rows are of, and `padding` counts rows.
  std::uint64_t window_rows = 0;          ///< of a run; 0: no window. On `rows_axis`
  std::uint64_t window_runs = 0;          ///< of this reader
  std::uint64_t window_extra = 0;         ///< rows that each run shows besides
  std::uint64_t first_row = 0;            ///< the first one, by its coordinate
  std::uint64_t first_row_in_sample = 0;  ///< the same, inside the sample at `position`
  std::uint64_t lap_row = 0;              ///< with padding: rows begin again there,
  std::uint64_t lap_rows = 0;             ///< after that number of them
  std::uint64_t cursor_row = 0;           ///< where the cursor was, inside the sample there
  std::uint64_t next_row = 0;             ///< the same once it is delivered
  std::uint64_t counted_from = 0;         ///< samples whose last row this reader has begin there
  std::uint64_t counted = 0;              ///< and their number

  [[nodiscard]] bool is_window() const noexcept { return window_rows != 0; }
  /// Where the cursor was, and where it is once the batch is delivered.
  [[nodiscard]] RowPlace begin() const noexcept { return {batch_start, cursor_row}; }
  [[nodiscard]] RowPlace next() const noexcept { return {batch_start + batch_size, next_row}; }
  /// Rows that it has; `window_extra` follow.
  [[nodiscard]] std::uint64_t rows_in_all() const noexcept { return window_rows * window_runs; }

  /// Whether what it shows begins again within it, be it in the extra rows of its last run alone.
  /// Such a run has to be copied.
  [[nodiscard]] bool goes_round() const noexcept {
    if (!is_window()) return padding != 0;
    return lap_rows != 0 && first_row + rows_in_all() + window_extra > lap_row + lap_rows;
  }

  /// Samples that are no padding.
  [[nodiscard]] std::uint64_t own() const noexcept { return size - padding; }
};

}  // namespace batchcast::inline v0_1
