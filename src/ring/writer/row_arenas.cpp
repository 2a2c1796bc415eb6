// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "ring/writer/row_arenas.hpp"

#include <batchcast/core/assert.hpp>

#include <algorithm>

namespace batchcast::inline v0_1 {

RowArenas::RowArenas(Board board, const std::vector<RowEntry*>& tables, std::uint64_t start)
    : board_(board) {
  const BoardView& view = board_;
  BATCHCAST_ASSERT(tables.size() == view.axis_count());
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const AxisEntry& entry = view.axis(i);
    axes_.push_back({tables[i], entry.table_capacity, entry.rows, 0, start, start});
  }
  store_taken();
}

void RowArenas::store_taken() noexcept {
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    ordered::set_release(board_.axis(i).taken_to, axes_[i].taken_to);
  }
}

std::uint64_t RowArenas::next_position() const noexcept {
  std::uint64_t lowest = limits::position_max;
  for (const Of& axis : axes_) lowest = std::min(lowest, axis.taken_to);
  return lowest;
}

RowRange RowArenas::rows_of(std::size_t axis, std::uint64_t position) const noexcept {
  const Of& it = axes_[axis];
  const RowEntry& entry = it.table[position % it.table_capacity];
  return {ordered::get(entry.first), ordered::get(entry.rows)};
}

std::uint64_t RowArenas::first_row(std::size_t axis, std::uint64_t position) const noexcept {
  const Of& it = axes_[axis];
  return position < it.taken_to ? rows_of(axis, position).first : it.next_row;
}

std::uint64_t RowArenas::position_at(std::size_t axis, std::uint64_t row,
                                     std::uint64_t from) const noexcept {
  std::uint64_t low = from;
  std::uint64_t high = std::max(from, axes_[axis].taken_to);
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (rows_of(axis, middle).first >= row) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

std::uint64_t RowArenas::kept_from() const noexcept {
  std::uint64_t kept = 0;
  for (const Of& axis : axes_) kept = std::max(kept, axis.kept_from);
  return kept;
}

void RowArenas::set(Of& axis, std::uint64_t position, std::uint64_t rows) noexcept {
  RowEntry& entry = axis.table[position % axis.table_capacity];
  ordered::set(entry.first, axis.next_row);
  ordered::set(entry.rows, rows);
}

void RowArenas::take(std::size_t axis, std::uint64_t position, std::uint64_t rows) noexcept {
  Of& it = axes_[axis];
  BATCHCAST_ASSERT(position >= it.taken_to && rows <= it.arena);
  for (; it.taken_to < position; ++it.taken_to) set(it, it.taken_to, 0);
  set(it, position, rows);
  it.next_row += rows;
  it.taken_to = position + 1;
  it.left_to = 0;  // all tickets that were left out are back
  // The table has the last positions only; what it no longer has is not kept either.
  it.kept_from = std::max(it.kept_from, saturating_sub(it.taken_to, it.table_capacity));
  // The rows of these are overwritten from here on.
  while (it.kept_from < position && rows_of(axis, it.kept_from).first + it.arena < it.next_row) {
    ++it.kept_from;
  }
  ordered::set_release(board_.axis(axis).taken_to, it.taken_to);
}

void RowArenas::settle(std::uint64_t end) noexcept {
  for (Of& axis : axes_) {
    for (; axis.taken_to < end; ++axis.taken_to) set(axis, axis.taken_to, 0);
  }
  store_taken();
}

void RowArenas::take_back(std::uint64_t position) noexcept {
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    Of& axis = axes_[i];
    if (axis.taken_to <= position) continue;
    axis.next_row = rows_of(i, position).first;
    axis.taken_to = position;
  }
  store_taken();
}

void RowArenas::restart(std::uint64_t position) noexcept {
  for (Of& axis : axes_) {
    axis.left_to = std::max(axis.left_to, axis.taken_to);
    axis.taken_to = axis.kept_from = position;
  }
  store_taken();
}

void RowArenas::store_published(std::uint64_t position) noexcept {
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    ordered::set_release(board_.axis(i).published_rows, first_row(i, position));
  }
}

}  // namespace batchcast::inline v0_1
