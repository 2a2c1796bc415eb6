// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/options.hpp>
#include <batchcast/core/row_place.hpp>
#include <batchcast/core/text.hpp>

#include <cstdint>
#include <optional>
#include <string>

// What the producer's door and a reader refuse, in the same words. Each text follows the stream's
// name, and has no full stop.
namespace batchcast::inline v0_1 {

/// A cursor's row that its sample does not have. `axis`: where the row would be; empty for a stream
/// without axes.
[[nodiscard]] inline std::string why_no_row(RowPlace place, const std::string& axis,
                                            std::uint64_t rows) {
  const std::string there = axis.empty() ? std::string("all samples of the stream have one shape")
                                         : text("it has {} on the axis `{}`", rows, axis);
  return text(
      "the sample at position {} has no row {}: {}. The cursor is of another stream, or its "
      "samples have other lengths now. Begin at that position with row 0, or join with `rewind`",
      place.position, place.row, there);
}

/// The rows that a batch of that window takes of its axis, of all ranks; at most 2^64 - 1.
[[nodiscard]] inline std::uint64_t rows_of(const Window& window, std::uint64_t ranks) noexcept {
  std::uint64_t rows = window.rows;
  bool fits = !__builtin_mul_overflow(rows, window.runs, &rows);
  fits = !__builtin_mul_overflow(rows, ranks, &rows) && fits;
  fits = !__builtin_add_overflow(rows, window.extra, &rows) && fits;
  return fits ? rows : ~std::uint64_t{0};
}

/// A window that no batch can have in a ring that holds `arena` rows of its axis; nothing where it
/// fits. `ranks`: those of the group, which share a batch's rows.
[[nodiscard]] inline std::optional<std::string> why_no_window(const Window& window,
                                                              std::uint64_t ranks,
                                                              std::uint64_t arena) {
  const bool fits = window.runs <= arena / window.rows / ranks &&
                    window.extra <= arena - window.runs * window.rows * ranks;
  if (fits) return std::nullopt;
  return text(
      "a window of {} runs of {} rows{} does not fit into the ring, which has {} on the axis `{}`. "
      "Serve it with --rows {}={} or more, or ask for less",
      window.runs, window.rows, ranks == 1 ? "" : text(" for each of {} ranks", ranks), arena,
      window.axis, window.axis, rows_of(window, ranks));
}

}  // namespace batchcast::inline v0_1
