// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/limits.hpp>
#include <batchcast/core/row_place.hpp>
#include <batchcast/ring/cursor.hpp>
#include <batchcast/ring/layout.hpp>

#include <cstddef>
#include <cstdint>

namespace batchcast::inline v0_1 {

/// Rows of an axis, by their coordinate there.
struct RowRange {
  std::uint64_t first = 0;
  std::uint64_t rows = 0;

  [[nodiscard]] std::uint64_t end() const noexcept { return first + rows; }
  friend bool operator==(const RowRange&, const RowRange&) = default;
};

/// An axis as its readers see it: which rows each position has. It owns nothing. What a table says
/// is copied out of it entry by entry, and checked: at `free` pace the producer may be writing it.
class RowTable {
 public:
  RowTable() = default;
  RowTable(const RowEntry* entries, std::uint64_t capacity, std::uint64_t arena) noexcept
      : entries_(entries), capacity_(capacity), arena_(arena) {}

  /// The rows that the ring holds of this axis.
  [[nodiscard]] std::uint64_t arena() const noexcept { return arena_; }
  /// How many positions the table has rows of.
  [[nodiscard]] std::uint64_t positions() const noexcept { return capacity_; }
  [[nodiscard]] RowRange at(std::uint64_t position) const noexcept {
    const RowEntry& entry = entries_[position % capacity_];
    return {ordered::get(entry.first), ordered::get(entry.rows)};
  }
  /// Where the entry of a position is, for a walk over consecutive ones.
  [[nodiscard]] std::uint64_t index_of(std::uint64_t position) const noexcept {
    return position % capacity_;
  }
  /// The entry at that index, which moves on to the next one.
  [[nodiscard]] RowRange take(std::uint64_t& index) const noexcept {
    const RowEntry& entry = entries_[index];
    index = index + 1 == capacity_ ? 0 : index + 1;
    return {ordered::get(entry.first), ordered::get(entry.rows)};
  }
  /// The rows of [position, position + samples), at least one sample. More rows than there can be
  /// where the table contradicts itself.
  [[nodiscard]] RowRange of(std::uint64_t position, std::uint64_t samples) const noexcept {
    const RowRange first = at(position);
    const RowRange last = at(position + samples - 1);
    return {first.first, last.end() - first.first};
  }

 private:
  const RowEntry* entries_ = nullptr;
  std::uint64_t capacity_ = 1;
  std::uint64_t arena_ = 0;
};

/// The axis that a cursor's row is on where no window says so. That is where the sample has most
/// rows, the first of equals. `rows_of(axis)`: the sample's. There is at least one axis.
template <class RowsOf>
[[nodiscard]] std::size_t axis_of_cursor(std::size_t axes, RowsOf&& rows_of) {
  std::size_t longest = 0;
  std::uint64_t most = rows_of(std::size_t{0});
  for (std::size_t axis = 1; axis < axes; ++axis) {
    const std::uint64_t rows = rows_of(axis);
    if (rows > most) longest = axis, most = rows;
  }
  return longest;
}

/// The position whose rows do not fit at present, as the board tells it.
struct RowWait {
  std::uint64_t sequence = 0;                     ///< changes with each announcement
  std::uint64_t position = limits::position_max;  ///< position_max: none
};

}  // namespace batchcast::inline v0_1
