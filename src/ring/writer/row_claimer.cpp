// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "ring/writer/row_claimer.hpp"

#include <batchcast/core/assert.hpp>
#include <batchcast/core/clock.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/ring/futex.hpp>

#include <algorithm>
#include <string>
#include <thread>

namespace batchcast::inline v0_1 {
namespace {

constexpr std::uint64_t never_ns = ~std::uint64_t{0};

/// Not longer than a sleep may be.
int ms_until(std::uint64_t deadline_ns) noexcept {
  const std::uint64_t now = now_ns();
  if (deadline_ns <= now) return 0;
  constexpr auto most = static_cast<std::uint64_t>(limits::sleep_ms_max);
  return static_cast<int>(std::min(most, (deadline_ns - now + 999'999) / 1'000'000));
}

std::string axis_name(const BoardView& board, std::size_t axis) {
  return board.axis(axis).name.data();
}

}  // namespace

std::uint64_t RowClaimer::take(Ticket& ticket, std::size_t axis, std::uint64_t index,
                               std::span<const std::uint64_t> lengths, int timeout_ms,
                               std::span<const std::uint64_t> first) {
  const std::uint64_t deadline_ns =
      timeout_ms < 0 ? never_ns : now_ns() + static_cast<std::uint64_t>(timeout_ms) * 1'000'000;
  Lock lock(state_.mutex);
  RowArenas& rows = state_.rows;
  if (is_over(ticket)) return 0;
  check(ticket, axis, index, lengths);
  if (!wait_for_turn(lock, ticket, deadline_ns)) return 0;
  std::uint64_t taken = 0;
  for (const std::uint64_t length : lengths) {
    const Wanted wanted{ticket.position + index + taken, axis, length, first};
    if (!fits_now(wanted)) {
      if (wanted.position != ticket.position) {
        state_.tickets.shorten(ticket, wanted.position);
        break;
      }
      if (!wait_for_room(lock, wanted, ticket, deadline_ns)) return 0;
    }
    rows.take(axis, wanted.position, length);
    ++taken;
  }
  state_.tickets.note_rows();
  publisher_.settle();
  state_.wake.wake_claimer();
  return taken;
}

bool RowClaimer::has_turn(const Ticket& ticket) {
  const std::lock_guard lock(state_.mutex);
  return state_.rows.next_position() >= ticket.position || state_.outcome.is_over() ||
         state_.tickets.is_abandoned(ticket);
}

std::optional<RowRange> RowClaimer::left_rows(const Ticket& ticket, std::size_t axis,
                                              std::uint64_t position) {
  const std::lock_guard lock(state_.mutex);
  const RowArenas& rows = state_.rows;
  if (!state_.tickets.is_abandoned(ticket) || !rows.has_left_rows(axis, position)) {
    return std::nullopt;
  }
  return rows.rows_of(axis, position);
}

void RowClaimer::check(const Ticket& ticket, std::size_t axis, std::uint64_t index,
                       std::span<const std::uint64_t> lengths) const {
  const BoardView& board = state_.board;
  const std::uint64_t position = ticket.position + index;
  if (index > ticket.size || lengths.size() > ticket.size - index) {
    throw InvalidArgument(
        text("batchcast: take_rows() for samples {} to {} of a loan of {} samples.", index,
             index + lengths.size() - 1, ticket.size));
  }
  if (state_.rows.taken_to(axis) > position) {
    throw InvalidArgument(
        text("batchcast: take_rows() for sample {} of a loan, which has its rows on the axis `{}` "
             "already, or comes before one that has. The samples of a loan take rows in order, "
             "once.",
             index, axis_name(board, axis)));
  }
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] <= state_.rows.arena(axis)) continue;
    throw RingTooSmall(text(
        "batchcast: sample {} of a loan, at position {}, has {} rows on the axis `{}`, and the "
        "ring has {} for all of its samples. Give that axis more (--rows {}={}; of a "
        "ProducerOptions, `rows`), or the stream more memory.",
        index + i, position + i, lengths[i], axis_name(board, axis), state_.rows.arena(axis),
        axis_name(board, axis), lengths[i]));
  }
}

/// The stream ended, or went back and left this ticket out: it has no samples any more.
bool RowClaimer::is_over(Ticket& ticket) const noexcept {
  if (ticket.size == 0) return true;
  if (!state_.outcome.is_over() && !state_.tickets.is_abandoned(ticket)) return false;
  ticket.size = 0;
  return true;
}

/// Until all earlier tickets have their rows. False where the ticket has no samples any more, and
/// at the deadline.
bool RowClaimer::wait_for_turn(Lock& lock, Ticket& ticket, std::uint64_t deadline_ns) {
  state_.tickets.note_taker(ticket);
  std::uint64_t started_ns = 0;
  for (;;) {
    if (is_over(ticket)) return false;
    if (state_.rows.next_position() >= ticket.position) break;
    if (const auto earlier = state_.tickets.own_before(ticket, state_.rows.next_position())) {
      throw InvalidArgument(
          text("batchcast: take_rows() of a loan from position {} on, while this thread has the "
               "earlier one from position {} on, which lacks rows: it would wait for itself. Take "
               "the rows of loans in their order. Where a loan lost samples, ask for them with "
               "loan() first.",
               ticket.position, *earlier));
    }
    const int most_ms = ms_until(deadline_ns);
    if (most_ms == 0) return false;
    if (started_ns == 0) started_ns = now_ns();
    const Shared32& word = state_.wake.word();
    const std::uint32_t value = ordered::load_word(word);
    state_.wake.add_row_sleeper(1);
    lock.unlock();
    static_cast<void>(futex_wait(word, value, most_ms));
    lock.lock();
    state_.wake.add_row_sleeper(-1);
  }
  if (started_ns != 0) {
    ordered::count(state_.board.progress().space_waits);
    ordered::count(state_.board.progress().space_wait_ns, now_ns() - started_ns);
  }
  return true;
}

bool RowClaimer::fits(const Wanted& wanted) const noexcept {
  const RowArenas& rows = state_.rows;
  const std::uint64_t kept = rows.first_row(wanted.axis, state_.gate.kept());
  return rows.next_row(wanted.axis) + wanted.rows <= kept + rows.arena(wanted.axis);
}

bool RowClaimer::fits_now(const Wanted& wanted) {
  if (state_.gate.is_kept_known() && fits(wanted)) return true;
  admission_.refresh_gate();
  return fits(wanted);
}

/// False where the ticket has no samples any more, and at the deadline.
bool RowClaimer::wait_for_room(Lock& lock, const Wanted& wanted, Ticket& ticket,
                               std::uint64_t deadline_ns) {
  if (ms_until(deadline_ns) == 0) return false;
  const std::uint64_t started_ns = now_ns();
  announce(lock, wanted);
  state_.wake.set_waits_for_rows(true);
  bool over = is_over(ticket);
  bool is_late = false;
  while (!over && !is_late) {
    const bool fits = fits_now(wanted);
    if (admission_.has_evictions()) {
      tell_evictions(lock);  // a consumer may have joined meanwhile
    } else if (fits) {
      break;
    } else {
      is_late = !sleep_for_room(lock, wanted, deadline_ns);
    }
    over = is_over(ticket);
  }
  state_.wake.set_waits_for_rows(false);
  withdraw();
  ordered::count(state_.board.progress().space_waits);
  ordered::count(state_.board.progress().space_wait_ns, now_ns() - started_ns);
  // There is none where it fits: that is true only as long as the lock is held.
  if (admission_.has_evictions()) tell_evictions(lock);
  return !over && !is_late;
}

/// False at the deadline.
bool RowClaimer::sleep_for_room(Lock& lock, const Wanted& wanted, std::uint64_t deadline_ns) {
  const int most_ms = ms_until(deadline_ns);
  if (most_ms == 0) return false;
  const ConsumerRecord* const waits_for = state_.gate.kept_for();
  const std::uint64_t consumer_id = waits_for != nullptr ? waits_for->consumer_id : 0;
  const std::uint64_t began_ns = now_ns();
  look_and_sleep(lock, wanted, most_ms);
  state_.consumers.note_wait_for(consumer_id, now_ns() - began_ns);
  return true;
}

/// Says which position does not fit, and wakes each consumer that sleeps. It may hold the rows, or
/// have a batch that is complete without that position.
void RowClaimer::announce(Lock& lock, const Wanted& wanted) {
  BoardProgress& progress = state_.board.progress();
  ordered::begin_row_wait(progress);
  for (std::size_t axis = 0; axis < state_.rows.size(); ++axis) {
    AxisEntry& entry = state_.board.axis(axis);
    ordered::set(entry.waiting_first, state_.rows.first_row(axis, wanted.position));
    ordered::set(entry.waiting_rows, known_rows(wanted, axis));
  }
  ordered::end_row_wait(progress, wanted.position);
  {
    PendingWakes wakes;
    state_.consumers.wake_all(wakes);
    lock.unlock();
  }
  lock.lock();
}

std::uint64_t RowClaimer::known_rows(const Wanted& wanted, std::size_t axis) const noexcept {
  if (axis == wanted.axis) return wanted.rows;
  const RowArenas& rows = state_.rows;
  if (rows.taken_to(axis) > wanted.position) return rows.rows_of(axis, wanted.position).rows;
  return axis < wanted.all.size() ? wanted.all[axis] : rows_unknown;
}

void RowClaimer::withdraw() noexcept {
  ordered::begin_row_wait(state_.board.progress());
  ordered::end_row_wait(state_.board.progress(), limits::position_max);
}

/// The position from which on there is room for that, and for `more` rows.
std::uint64_t RowClaimer::room_at(const Wanted& wanted, std::uint64_t more) const noexcept {
  const RowArenas& rows = state_.rows;
  const std::uint64_t end = rows.next_row(wanted.axis) + wanted.rows + more;
  return rows.position_at(wanted.axis, saturating_sub(end, rows.arena(wanted.axis)),
                          state_.gate.kept());
}

void RowClaimer::look_and_sleep(Lock& lock, const Wanted& wanted, int most_ms) {
  const std::uint32_t own_value = ordered::load_word(state_.wake.word());
  if (room_came_while_looking(lock, wanted)) return;
  const DeskWatch watch = announce_sleep(wanted);
  if (!need_not_sleep(watch, wanted)) sleep(lock, watch, own_value, most_ms);
  ordered::producer_wakes_for_rows(state_.board.progress());
  claimer_.report_stall(lock);
}

/// As a claimer does, it waits a moment for room for many samples.
bool RowClaimer::room_came_while_looking(Lock& lock, const Wanted& wanted) {
  const ConsumerRecord* const waits_for = state_.gate.kept_for();
  if (waits_for == nullptr) return false;
  const std::shared_ptr<Desk> desk = waits_for->desk;
  const std::uint64_t some = room_at(wanted, 0);
  const std::uint64_t arena = state_.rows.arena(wanted.axis);
  const std::uint64_t many = room_at(wanted, std::min(arena / 4, arena - wanted.rows));
  lock.unlock();
  const bool found = spinner_.look([&] { return ordered::load_released(*desk) >= many; });
  const bool enough = found || ordered::load_released(*desk) >= some;
  lock.lock();
  return enough;
}

RowClaimer::DeskWatch RowClaimer::announce_sleep(const Wanted& wanted) {
  admission_.refresh_gate();
  const ConsumerRecord* const waits_for = state_.gate.kept_for();
  if (waits_for == nullptr) return {};
  DeskWatch watch;
  watch.desk = waits_for->desk;
  watch.consumer_id = waits_for->consumer_id;
  watch.release_sequence = ordered::load_word(watch.desk->release_sequence);
  watch.wake_at = std::max(waits_for->released_min + 1, room_at(wanted, 0));
  ordered::producer_sleeps_for_rows(state_.board.progress(), watch.consumer_id, watch.wake_at);
  return watch;
}

bool RowClaimer::need_not_sleep(const DeskWatch& watch, const Wanted& wanted) {
  admission_.refresh_gate();
  const ConsumerRecord* const waits_for = state_.gate.kept_for();
  const std::uint64_t consumer_id = waits_for != nullptr ? waits_for->consumer_id : 0;
  return consumer_id != watch.consumer_id || admission_.has_evictions() || fits(wanted);
}

void RowClaimer::sleep(Lock& lock, const DeskWatch& watch, std::uint32_t own_value, int most_ms) {
  const Shared32& own_word = state_.wake.word();
  // Any of several consumers of `free` pace may become the foremost.
  const ConsumerRecord* const waits_for = state_.gate.kept_for();
  const bool is_foremost = waits_for != nullptr && waits_for->pace == Pace::free;
  if (is_foremost) most_ms = std::min(most_ms, look_for_foremost_ms);
  state_.wake.add_row_sleeper(1);
  lock.unlock();
  if (watch.desk) {
    static_cast<void>(futex_wait_either(watch.desk->release_sequence, watch.release_sequence,
                                        own_word, own_value, most_ms));
  } else {
    static_cast<void>(futex_wait(own_word, own_value, most_ms));
  }
  lock.lock();
  state_.wake.add_row_sleeper(-1);
}

void RowClaimer::tell_evictions(Lock& lock) {
  const std::vector<ConsumerAdmission::Eviction> evictions = admission_.take_evictions();
  lock.unlock();
  admission_.tell(evictions);
  lock.lock();
}

}  // namespace batchcast::inline v0_1
