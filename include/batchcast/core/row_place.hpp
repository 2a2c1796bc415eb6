// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <compare>
#include <cstdint>

namespace batchcast::inline v0_1 {

/// A place among the rows of an axis: inside the sample at `position`. Where all rows of a sample
/// are passed, it is row 0 of the next one.
struct RowPlace {
  std::uint64_t position = 0;
  std::uint64_t row = 0;

  friend auto operator<=>(const RowPlace&, const RowPlace&) = default;
};

/// What became of the rows of an axis that a consumer came to.
struct RowCounts {
  std::uint64_t delivered = 0;
  std::uint64_t repeated = 0;   ///< of these, those that fill a window (Tail::pad)
  std::uint64_t truncated = 0;  ///< behind the budget (Oversize::truncate)
  std::uint64_t left_out = 0;   ///< of samples and runs that no batch has

  [[nodiscard]] std::uint64_t in_all() const noexcept {
    return delivered - repeated + truncated + left_out;
  }
  void add(const RowCounts& more) noexcept {
    delivered += more.delivered, repeated += more.repeated;
    truncated += more.truncated, left_out += more.left_out;
  }
};

/// Of a stream with axes: the rows of one epoch that a rank of a group answers for. Beside them are
/// the rows of all ranks, as it saw them go by.
struct RowReceipt {
  std::uint64_t own = 0;
  std::uint64_t all = 0;  ///< 0: not known

  friend bool operator==(const RowReceipt&, const RowReceipt&) = default;
};

}  // namespace batchcast::inline v0_1
