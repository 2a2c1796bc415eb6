// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/row_reading.hpp>

#include <batchcast/core/error.hpp>
#include <batchcast/core/inline.hpp>
#include <batchcast/ring/row_refusal.hpp>

#include <algorithm>
#include <utility>

namespace batchcast::inline v0_1 {

BATCHCAST_INLINE RowReading::RowReading(BoardView board, Desk& desk, const SampleIds& sample_ids,
                                        ReadCursor& cursor, LeaseTable& leases,
                                        EpochReceipt& receipt, ReaderHost& host, Options options)
    : board_(board),
      desk_(desk),
      sample_ids_(sample_ids),
      cursor_(cursor),
      leases_(leases),
      receipt_(receipt),
      host_(host),
      options_(std::move(options)),
      cut_(options_.shares),
      window_cut_(options_.shares) {}

// ---- with a budget or a window

BATCHCAST_INLINE RowReading::Found RowReading::cut(const Samples& samples, bool is_over) {
  RowCut::There there;
  there.begin = samples.begin.position;
  const std::uint64_t published = samples.published;
  const RowTable& table = options_.axes[options_.budget.axis].table;
  // No honest producer has published more than the table holds.
  const std::uint64_t held = saturating_add(there.begin, table.positions());
  there.end = std::max(std::min({published, samples.end.value_or(published), held}), there.begin);
  there.is_final = is_over || (samples.end && there.end >= *samples.end);
  cut_wait_ = cursor_.row_wait();
  cut_published_ = published;
  if (has_window()) return cut_window(samples, there.end, there.is_final);
  if (cut_wait_.position == there.end) {
    const auto rows = cursor_.waiting_rows(cut_wait_, options_.budget.axis);
    if (rows && rows->rows != rows_unknown) there.next_rows = rows->rows;
  }
  switch (cut_.cut(table, options_.budget, samples.most, there)) {
    case RowCut::Found::batch:
      return Found::batch;
    case RowCut::Found::more:
      return Found::more;
    case RowCut::Found::oversized:
      return Found::oversized;
    case RowCut::Found::none:
      break;
  }
  return Found::none;
}

BATCHCAST_INLINE RowReading::Found RowReading::cut_window(const Samples& samples, std::uint64_t end,
                                                          bool is_final) {
  const RowTable& table = options_.axes[options_.window.axis].table;
  const WindowCut::There there{samples.begin, end, is_final};
  switch (window_cut_.cut(table, options_.window, options_.tail, there)) {
    case WindowCut::Found::batch:
      return Found::batch;
    case WindowCut::Found::more:
      return Found::more;
    case WindowCut::Found::gone:
      return Found::gone;
    case WindowCut::Found::none:
      break;
  }
  return Found::none;
}

BATCHCAST_INLINE bool RowReading::cuts_nothing(const Samples& samples) {
  if (has_window()) {
    if (cut(samples, false) != Found::none || !is_cut_sound(samples.begin.position)) return false;
    ordered::count(desk_.dropped_rows, window_cut_.rows_there());
    return true;
  }
  if (options_.shares == 1 && options_.budget.oversize != Oversize::drop) return false;
  if (cut(samples, false) != Found::none || !is_cut_sound(samples.begin.position)) return false;
  ordered::count(desk_.oversized, cut_.dropped());
  return true;
}

BATCHCAST_INLINE bool RowReading::pass_dropped(const Samples& samples) {
  if (has_window()) return pass_empty(samples);
  if (!cut_.runs().empty() || cut_.at() <= samples.begin.position) return false;
  if (options_.pace == Pace::free) {
    receipt_.spoil();
  } else {
    count_gap(samples.begin.position, cut_.at());
  }
  ordered::count(desk_.oversized, cut_.dropped());
  cursor_.jump(cut_.at());
  leases_.pass(cut_.at());
  return true;
}

/// With a window only samples without rows can fill the ring without making a batch.
BATCHCAST_INLINE bool RowReading::pass_empty(const Samples& samples) {
  const std::uint64_t end = std::min(samples.published, samples.end.value_or(samples.published));
  const std::uint64_t begin = samples.begin.position;
  if (window_cut_.rows_there() != 0 || end < begin + most_empty()) return false;
  if (options_.pace == Pace::free) {
    receipt_.spoil();
  } else {
    count_gap(begin, end);
  }
  cursor_.jump(end);
  leases_.pass(end);
  return true;
}

BATCHCAST_INLINE std::uint64_t RowReading::begin_of_batch(const Samples& samples) const noexcept {
  if (!has_window()) return cut_.runs().empty() ? cut_.at() : samples.begin.position;
  if (window_cut_.rows_there() != 0) return samples.begin.position;
  return std::max(std::min(samples.published, samples.end.value_or(samples.published)),
                  samples.begin.position);
}

BATCHCAST_INLINE std::string RowReading::why_no_batch() const {
  if (has_window()) {
    return text("it has fewer rows than the window takes{}",
                options_.tail == Tail::drop ? ", and its tail is dropped" : "");
  }
  if (options_.budget.oversize != Oversize::drop) {
    return text("it has fewer samples than {}", options_.shares);
  }
  if (options_.shares == 1) return "all of its samples exceed the budget, and are dropped";
  return text("fewer than {} of its samples do not exceed the budget; others are dropped",
              options_.shares);
}

/// Samples without rows may fill that much of the ring.
BATCHCAST_INLINE std::uint64_t RowReading::most_empty() const noexcept {
  return std::max<std::uint64_t>(board_.head().capacity / 2, 1);
}

/// No more than that is published before this reader releases a sample. The producer, out of
/// positions, wakes no reader that sleeps for rows.
BATCHCAST_INLINE std::uint64_t RowReading::out_of_positions() const noexcept {
  return saturating_add(leases_.held().oldest, board_.head().capacity);
}

BATCHCAST_INLINE std::uint64_t RowReading::await(const Samples& samples,
                                                 ReadCursor::RowWish& wish) const {
  const std::uint64_t least = samples.published + 1;
  const std::uint64_t begin = samples.begin.position;
  const std::uint64_t room =
      std::min(samples.end.value_or(limits::position_max), out_of_positions());
  if (has_window()) {
    if (begin >= samples.published) return least;
    const RowWindow& window = options_.window;
    wish.axis_plus_one = static_cast<std::uint32_t>(window.axis + 1);
    wish.row = window_cut_.first_row() + window.rows * window.runs * options_.shares + window.extra;
    const bool is_empty = window_cut_.rows_there() == 0;
    return std::max(is_empty ? std::min(room, begin + most_empty()) : room, least);
  }
  if (cut_.at() >= samples.published) return least;  // nothing of that run is there
  const RowRange first = options_.axes[options_.budget.axis].table.at(cut_.at());
  wish.axis_plus_one = static_cast<std::uint32_t>(options_.budget.axis + 1);
  wish.row = first.first + options_.budget.rows;
  const bool is_endless = samples.most > limits::position_max / options_.shares;
  const std::uint64_t all = is_endless ? limits::position_max : samples.most * options_.shares;
  return std::max(std::min(saturating_add(begin, all), room), least);
}

BATCHCAST_INLINE Run RowReading::run(const Samples& samples, std::uint64_t epoch) const noexcept {
  if (has_window()) return window_run(samples, epoch);
  const RowRun& mine = cut_.runs()[options_.share];
  Run run;
  run.position = mine.start;
  run.size = mine.size;
  run.epoch = epoch;
  run.batch_start = samples.begin.position;
  run.batch_size = cut_.end() - run.batch_start;
  if (mine.oversized && options_.budget.oversize == Oversize::truncate) {
    run.rows_max = options_.budget.rows;
    run.rows_axis = options_.budget.axis;
  }
  return run;
}

/// The rows of this reader, and the samples that they are of.
BATCHCAST_INLINE Run RowReading::window_run(const Samples& samples,
                                            std::uint64_t epoch) const noexcept {
  const RowWindow& window = options_.window;
  const RowPlace from = window_cut_.bounds()[options_.share];
  const RowPlace to = window_cut_.bounds()[options_.share + 1];
  const RowPlace after = window_cut_.bounds().back();
  Run run;
  run.epoch = epoch;
  run.batch_start = samples.begin.position;
  run.batch_size = after.position - run.batch_start;
  run.cursor_row = samples.begin.row;
  run.next_row = after.row;
  run.rows_axis = window.axis;
  run.window_rows = window.rows;
  run.window_runs = window_cut_.runs();
  run.window_extra = window.extra;
  run.counted_from = from.position;
  run.counted = to.position - from.position;
  run.position = from.position;
  run.first_row_in_sample = from.row;
  std::uint64_t passed = run.rows_in_all() * options_.share;
  if (window_cut_.is_padded()) {
    const std::uint64_t there = window_cut_.rows_there();
    const std::uint64_t left = passed < there ? there - passed : 0;
    run.padding = run.rows_in_all() - std::min(left, run.rows_in_all());
    run.lap_row = window_cut_.first_row();
    run.lap_rows = there;
    passed %= there;
    const RowTable& table = options_.axes[window.axis].table;
    const RowPlace begins = passed == 0
                                ? samples.begin
                                : WindowCut::place_of(table, run.batch_start, after.position,
                                                      window_cut_.first_row() + passed);
    run.position = begins.position;
    run.first_row_in_sample = begins.row;
  }
  run.first_row = window_cut_.first_row() + passed;
  run.size =
      std::max<std::uint64_t>(to.position + (to.row == 0 ? 0 : 1), run.position + 1) - run.position;
  return run;
}

BATCHCAST_INLINE void RowReading::deliver(Run& run) {
  if (run.is_window()) {
    count_window(run);
    run.lease =
        leases_.add(run.lap_rows == 0 ? run.position : run.batch_start, run.next().position);
    if (run.counted != 0) receipt_.add(sample_ids_.at(run.counted_from, run.counted));
    if (run.position != run.batch_start) leases_.release_before_oldest();
    cursor_.take(run.counted, run.next());
    return;
  }
  run.lease = leases_.add(run.position, run.next().position);
  receipt_.add(sample_ids_.at(run.position, run.size));
  std::uint64_t at = run.batch_start;
  for (const RowRun& one : cut_.runs()) {
    count_gap(at, one.start);
    at = one.start + one.size;
    const RowRange there = counted_table().of(one.start, one.size);
    const bool is_own = one.start == run.position;
    const std::uint64_t cut = is_own && run.rows_max != 0 ? one.rows - run.rows_max : 0;
    const RowCounts counts = {is_own ? one.rows - cut : 0, 0, cut, 0};
    receipt_.pass_rows(there.first, there.end(), counts, is_own ? 0 : one.rows);
  }
  count_gap(at, run.next().position);  // at an epoch's end: samples that were dropped
  ordered::count(desk_.oversized,
                 cut_.dropped() + (cut_.runs()[options_.share].oversized ? 1U : 0U));
  if (run.position != run.batch_start) leases_.release_before_oldest();
  cursor_.take(run.size, run.next());
}

BATCHCAST_INLINE void RowReading::count_window(const Run& run) noexcept {
  const RowPlace after = window_cut_.bounds().back();
  const RowTable& table = counted_table();
  const std::uint64_t end = after.row == 0 ? table.at(after.position - 1).end()
                                           : table.at(after.position).first + after.row;
  const std::uint64_t rows = run.rows_in_all();
  std::uint64_t all = rows * options_.shares;
  if (run.lap_rows != 0) all = std::min(all, run.lap_rows);  // some more may be shown behind it
  receipt_.pass_rows(window_cut_.first_row(), end, {rows, run.padding, 0, 0},
                     all - rows + run.padding);
}

BATCHCAST_INLINE void RowReading::count_samples(const Run& run, std::uint64_t dropped) noexcept {
  const RowTable& table = counted_table();
  const RowRange all = table.of(run.batch_start, run.batch_size);
  RowCounts counts;
  if (run.own() != 0) counts.delivered = table.of(run.position, run.own()).rows;
  if (dropped != 0 && options_.share == 0)
    counts.left_out = table.of(run.next().position - dropped, dropped).rows;
  receipt_.pass_rows(all.first, all.end(), counts, all.rows - counts.in_all());
}

BATCHCAST_INLINE void RowReading::leave_out(RowPlace from, std::uint64_t end) noexcept {
  if (!has_axes() || from.position >= end) return;
  const RowRange all = counted_table().of(from.position, end - from.position);
  const std::uint64_t first = all.first + std::min(from.row, all.rows);
  const std::uint64_t rows = all.end() - first;
  const bool is_own = options_.share == 0;
  receipt_.pass_rows(first, all.end(), {0, 0, 0, is_own ? rows : 0}, is_own ? 0 : rows);
}

BATCHCAST_INLINE void RowReading::note_copied(const Run& run) noexcept {
  if (run.batch_size != run.size) receipt_.spoil();  // the ids of dropped samples were not copied
  ordered::count(desk_.oversized, cut_.dropped() + (cut_.runs().front().oversized ? 1U : 0U));
}

/// The ids of dropped samples belong to the receipt of the first rank.
BATCHCAST_INLINE void RowReading::count_gap(std::uint64_t begin, std::uint64_t end) {
  leave_out({begin, 0}, end);
  if (begin < end && options_.share == 0) receipt_.add(sample_ids_.at(begin, end - begin));
}

BATCHCAST_INLINE bool RowReading::is_cut_sound(std::uint64_t begin) const noexcept {
  return options_.pace != Pace::free ||
         ordered::load_kept_from_after_reading(board_.progress()) <= begin;
}

BATCHCAST_INLINE void RowReading::refuse(Found found, const Samples& samples) const {
  if (found == Found::oversized) throw_oversized();
  if (found == Found::gone) throw_gone(samples.begin);
}

BATCHCAST_INLINE void RowReading::throw_oversized() const {
  const ReaderAxis& axis = options_.axes[options_.budget.axis];
  throw InvalidArgument(text(
      "batchcast: the sample at position {} of stream `{}` has {} rows on the axis `{}`, more "
      "than the budget of {}. Ask for a larger budget, or choose oversize = alone, truncate "
      "or drop.",
      cut_.at(), options_.stream, axis.table.at(cut_.at()).rows, axis.name, options_.budget.rows));
}

BATCHCAST_INLINE void RowReading::throw_gone(RowPlace place) const {
  std::string why;
  if (has_axes()) {
    const ReaderAxis& axis = options_.axes[axis_of_row(place)];
    why = why_no_row(place, axis.name, axis.table.at(place.position).rows);
  } else {
    why = why_no_row(place, {}, 0);
  }
  throw Refused(text("batchcast: stream `{}`: {}.", options_.stream, why));
}

BATCHCAST_INLINE bool RowReading::drop_rest(std::uint64_t published) {
  const RowPlace place = cursor_.place();
  if (place.row == 0 || has_window() || published <= place.position) return false;
  const std::uint64_t rows =
      has_axes() ? options_.axes[axis_of_row(place)].table.at(place.position).rows : 0;
  Receipt passed;
  passed.add(sample_ids_.at(place.position, 1));
  if (!is_cut_sound(place.position)) return false;  // it is missed then
  if (rows <= place.row) throw_gone(place);
  if (options_.share == 0) receipt_.add(passed);
  ordered::count(desk_.dropped_rows, rows - place.row);
  leave_out(place, place.position + 1);
  cursor_.jump(place.position + 1);
  leases_.pass(place.position + 1);
  return true;
}

BATCHCAST_INLINE bool RowReading::take_copied(const Run& run) {
  Receipt passed;  // read before it is asked whether they are held
  if (run.counted != 0) passed.add(sample_ids_.at(run.counted_from, run.counted));
  if (!is_cut_sound(run.batch_start)) return false;
  receipt_.add(passed);
  cursor_.take(run.counted, run.next());
  leases_.pass(cursor_.position());
  return true;
}

BATCHCAST_INLINE std::size_t RowReading::axis_of_row(RowPlace place) const {
  if (rest_axis_) return *rest_axis_;
  return axis_of_cursor(options_.axes.size(), [&](std::size_t axis) {
    return options_.axes[axis].table.at(place.position).rows;
  });
}

// ---- of a stream with axes

BATCHCAST_INLINE std::uint64_t RowReading::make_room(std::uint64_t begin, std::uint64_t needed,
                                                     std::uint64_t wanted, bool makes,
                                                     ReadCursor::RowWish& wish) {
  if (!has_axes()) return wanted;
  const bool was_cut = cuts_rows() && begin != limits::position_max;
  const RowWait wait = was_cut ? cut_wait_ : cursor_.row_wait();
  wish.seen = wait.sequence;
  if (wait.position >= needed || wait.position == limits::position_max) return wanted;
  const std::uint64_t published = was_cut ? cut_published_ : cursor_.published();
  if (wait.position > published) return std::min(wanted, wait.position);
  if (wait.position < published || !makes) return wanted;
  if (was_cut && !has_window()) {
    // Rows that are not known yet may be what ends the batch.
    const auto rows = cursor_.waiting_rows(wait, options_.budget.axis);
    if (!rows || rows->rows == rows_unknown) begin = limits::position_max;
  }
  for (std::size_t axis = 0; axis < options_.axes.size(); ++axis) {
    const auto rows = cursor_.waiting_rows(wait, axis);
    if (!rows) break;  // another one waits by now
    if (rows->rows != rows_unknown) make_room_on(axis, wait, *rows, begin);
  }
  return wanted;
}

BATCHCAST_INLINE std::string RowReading::axis_filled_before(std::uint64_t begin,
                                                            std::uint64_t needed) const {
  if (!has_axes()) return {};
  const RowWait wait = cuts_rows() ? cut_wait_ : cursor_.row_wait();
  const std::uint64_t published = cuts_rows() ? cut_published_ : cursor_.published();
  if (wait.position != published || wait.position >= needed) return {};
  if (cuts_rows() && !has_window()) {
    // Rows that are not known yet may be what ends the batch.
    const auto rows = cursor_.waiting_rows(wait, options_.budget.axis);
    if (!rows || rows->rows == rows_unknown) return {};
  }
  for (std::size_t axis = 0; axis < options_.axes.size(); ++axis) {
    const auto rows = cursor_.waiting_rows(wait, axis);
    if (!rows) return {};  // another one waits by now
    const RowTable& table = options_.axes[axis].table;
    const auto fits_from = [&](std::uint64_t position) {
      const std::uint64_t first = position < published ? table.at(position).first : rows->first;
      return rows->end() - first <= table.arena();
    };
    if (rows->rows == rows_unknown) continue;
    if (fits_from(begin) && !fits_from(cursor_.position())) return options_.axes[axis].name;
  }
  return {};
}

/// `rows`: those of the position that waits.
BATCHCAST_INLINE void RowReading::make_room_on(std::size_t axis, const RowWait& wait, RowRange rows,
                                               std::uint64_t begin) {
  const RowTable& table = options_.axes[axis].table;
  const auto rows_from = [&](std::uint64_t position) {
    return rows.end() - (position < wait.position ? table.at(position).first : rows.first);
  };
  if (begin <= wait.position) {
    const std::uint64_t needed = rows_from(begin);
    if (needed > table.arena() && is_held(begin)) {
      throw_too_many(axis, begin, {wait.position, needed}, rows.rows);
    }
  }
  if (options_.pace == Pace::free) return;
  for (;;) {
    const LeaseTable::Held held = leases_.held();
    if (held.leases == 0 || rows_from(held.oldest) <= table.arena()) return;
    if (host_.leases_come_back()) return;
    if (host_.give_oldest_back()) continue;
    // Of a stream that is over no leases have to go back, and the caller finds out that it is.
    if (host_.producer_is_dead()) return;
    if (detail::has_ended(ordered::load_state(board_.progress()))) return;
    // Another thread may have given the last of them back meanwhile.
    if (leases_.held().leases != 0) throw_held(axis, wait.position);
  }
}

BATCHCAST_INLINE bool RowReading::is_held(std::uint64_t position) const noexcept {
  return position >= oldest_held(ordered::load_kept_from(board_.progress()),
                                 ordered::get_acquire(board_.progress().valid_from));
}

/// A smaller budget makes no batch of a group smaller whose samples exceed it.
BATCHCAST_INLINE bool RowReading::exceeds_budget(std::size_t axis,
                                                 std::uint64_t rows) const noexcept {
  if (has_window() || !options_.budget.is_set() || axis != options_.budget.axis) return false;
  return rows > options_.budget.rows || cut_.dropped() != 0 ||
         std::any_of(cut_.runs().begin(), cut_.runs().end(),
                     [](const RowRun& run) { return run.oversized; });
}

/// `rows`: of the sample at `needs.position`, with which the batch has `needs.rows`.
BATCHCAST_INLINE void RowReading::throw_too_many(std::size_t axis, std::uint64_t begin, Needs needs,
                                                 std::uint64_t rows) const {
  const ReaderAxis& one = options_.axes[axis];
  const std::string advice =
      exceeds_budget(axis, rows)
          ? text(
                "It is of {} ranks, and has samples that exceed the budget of {} rows, which the "
                "ring holds whole. Give",
                options_.shares, options_.budget.rows)
          : std::string("Ask for fewer samples, or a smaller budget or window, or give");
  throw RingTooSmall(
      text("batchcast: a batch from position {} on needs the sample at position {}, which makes {} "
           "rows on the axis `{}`; the ring of stream `{}` has {}. {} that axis more rows "
           "(--rows {}={}, {} bytes a row), or the stream more memory ({}).",
           begin, needs.position, needs.rows, one.name, options_.stream, one.table.arena(), advice,
           one.name, needs.rows, one.row_bytes, options_.memory_option));
}

BATCHCAST_INLINE void RowReading::throw_held(std::size_t axis, std::uint64_t position) const {
  const LeaseTable::Held held = leases_.held();
  const ReaderAxis& one = options_.axes[axis];
  throw RingTooSmall(
      text("batchcast: this consumer holds {} batches, the oldest from position {} on, and waits "
           "for the sample at position {}, for which the ring of stream `{}` has no rows left on "
           "the axis `{}`, which has {}. Drop batches sooner, give the axis more rows (--rows), or "
           "copy batches with access = private.",
           held.leases, held.oldest, position, options_.stream, one.name, one.table.arena()));
}

}  // namespace batchcast::inline v0_1
