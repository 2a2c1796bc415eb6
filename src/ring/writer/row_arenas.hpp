// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/board.hpp>
#include <batchcast/ring/row_table.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace batchcast::inline v0_1 {

/// Which rows of each axis are taken, and by which position. Rows are taken in the order of
/// positions, and follow each other without a gap. It writes the tables of the axes, and their
/// entries on the board. Belongs to the RingWriter, under its admission lock.
class RowArenas {
 public:
  /// `tables`: one for each axis of the board, writable, with its `table_capacity` entries.
  RowArenas(Board board, const std::vector<RowEntry*>& tables, std::uint64_t start);

  [[nodiscard]] bool none() const noexcept { return axes_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return axes_.size(); }
  [[nodiscard]] std::uint64_t arena(std::size_t axis) const noexcept { return axes_[axis].arena; }
  [[nodiscard]] std::uint64_t next_row(std::size_t axis) const noexcept {
    return axes_[axis].next_row;
  }
  /// Positions below it have their rows on that axis, or none.
  [[nodiscard]] std::uint64_t taken_to(std::size_t axis) const noexcept {
    return axes_[axis].taken_to;
  }
  /// The lowest position that lacks rows on an axis.
  [[nodiscard]] std::uint64_t next_position() const noexcept;
  /// The rows of a position that has them, and that the ring holds.
  [[nodiscard]] RowRange rows_of(std::size_t axis, std::uint64_t position) const noexcept;
  /// Whether a position that the stream left out as it went back has rows, which `rows_of` knows.
  [[nodiscard]] bool has_left_rows(std::size_t axis, std::uint64_t position) const noexcept {
    return position < axes_[axis].left_to;
  }
  /// Where the rows of a position begin that the ring holds, or where those of the next one will.
  [[nodiscard]] std::uint64_t first_row(std::size_t axis, std::uint64_t position) const noexcept;
  /// The lowest position, of those with rows, whose rows begin at `row` or after it.
  [[nodiscard]] std::uint64_t position_at(std::size_t axis, std::uint64_t row,
                                          std::uint64_t from) const noexcept;
  /// No rows of this position, and of those after it, are being overwritten.
  [[nodiscard]] std::uint64_t kept_from() const noexcept;

  /// Gives a position rows. Positions before it that have none get none.
  void take(std::size_t axis, std::uint64_t position, std::uint64_t rows) noexcept;
  /// Positions below `end` that have no rows get none.
  void settle(std::uint64_t end) noexcept;
  /// Takes the rows of positions from `position` on back.
  void take_back(std::uint64_t position) noexcept;
  /// The stream continues at that position, forwards or back.
  void restart(std::uint64_t position) noexcept;
  /// Tells readers how many rows are below that position. `published` has to be stored after it.
  void store_published(std::uint64_t position) noexcept;

 private:
  struct Of {
    RowEntry* table = nullptr;
    std::uint64_t table_capacity = 0;
    std::uint64_t arena = 0;
    std::uint64_t next_row = 0;
    std::uint64_t taken_to = 0;
    std::uint64_t kept_from = 0;
    std::uint64_t left_to = 0;  ///< `taken_to` before the stream went back, until rows are taken
  };
  void store_taken() noexcept;
  static void set(Of& axis, std::uint64_t position, std::uint64_t rows) noexcept;

  Board board_;
  std::vector<Of> axes_;
};

}  // namespace batchcast::inline v0_1
