// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/reader.hpp>

#include <batchcast/core/assert.hpp>
#include <batchcast/core/clock.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/inline.hpp>
#include <batchcast/ring/look_ahead.hpp>
#include <batchcast/ring/stream_over.hpp>

#include <algorithm>
#include <utility>

namespace batchcast::inline v0_1 {
namespace detail::reader {

inline constexpr std::uint64_t never_ns = ~std::uint64_t{0};
// A consumer that polls with a time-out of zero never sleeps, so it has to look for itself.
inline constexpr std::uint64_t look_alive_every_ns = 50'000'000;
// A sleeper looks whether the producer lives each time it wakes by itself: twice as often as it
// must know.
inline constexpr std::uint64_t sleep_ms_max = limits::sleep_ms_max / 2;

inline ReaderStatus status_of(const Desk& desk) noexcept {
  ReaderStatus status;
  status.samples = ordered::get(desk.samples);
  status.batches = ordered::get(desk.batches);
  status.skipped = ordered::get(desk.skipped);
  status.oversized = ordered::get(desk.oversized);
  status.dropped_rows = ordered::get(desk.dropped_rows);
  status.waits = ordered::get(desk.waits);
  status.wait_ns = ordered::get(desk.wait_ns);
  status.late_wakeups = ordered::get(desk.late_wakeups);
  status.epochs_matched = ordered::get(desk.epochs_matched);
  status.epochs_mismatched = ordered::get(desk.epochs_mismatched);
  status.epochs_unknown = ordered::get(desk.epochs_unknown);
  status.leases_held = ordered::get(desk.leases_held);
  return status;
}

}  // namespace detail::reader

BATCHCAST_INLINE RingReader::RingReader(BoardView board, Desk& desk, SampleIds sample_ids,
                                        ReaderHost& host, Options options)
    : board_(board),
      desk_(desk),
      sample_ids_(sample_ids),
      host_(host),
      options_(std::move(options)),
      capacity_(board.head().capacity),
      share_(options_.share, options_.shares, options_.tail),
      cursor_(board, desk, options_.spin_ns),
      leases_(board, desk),
      room_(leases_, host, {options_.stream, options_.memory_option, capacity_}),
      rows_(
          board, desk, sample_ids_, cursor_, leases_, receipt_, host,
          {std::move(options_.axes), options_.budget, options_.window, options_.tail, options_.pace,
           options_.share, options_.shares, options_.stream, options_.memory_option}) {
  move_to(RowPlace{ordered::load_released(desk), options_.row});
}

BATCHCAST_INLINE void RingReader::move_to(RowPlace place) {
  const std::uint64_t skipping = ordered::load_skipping(desk_);
  if (!between_epochs()) ordered::count(desk_.epochs_unknown);  // it is not read to its end
  leases_.restart(place.position, skipping != 0);
  cursor_.move_to(place, skipping);
  rows_.forget_place();
}

BATCHCAST_INLINE Next RingReader::next(std::uint64_t samples, int timeout_ms, Run& run, Room room) {
  BATCHCAST_ASSERT(samples > 0);
  begin_call();
  const std::uint64_t deadline_ns = deadline_after(timeout_ms);
  for (;;) {
    Look look{cursor_.state()};
    if (enter_epoch(look, room)) {
      if (end_epoch_if_over(look, samples)) return Next::end_of_epoch;
      if (take_if_there(look, samples, room, run)) return Next::batch;
    }
    if (!sleep(look, deadline_ns)) return Next::timed_out;
  }
}

BATCHCAST_INLINE bool RingReader::peek(std::uint64_t samples, int timeout_ms, Run& run) {
  BATCHCAST_ASSERT(samples > 0);
  check();
  const std::uint64_t deadline_ns = deadline_after(timeout_ms);
  for (;;) {
    Look look{cursor_.state(), cursor_.published()};
    if (const auto there = LookAhead(*this).find(look, samples, false)) {
      run = *there;
      return true;
    }
    if (!sleep(look, deadline_ns, false)) return false;
  }
}

BATCHCAST_INLINE std::optional<bool> RingReader::has_next_epoch(int timeout_ms) {
  begin_call();
  if (!between_epochs()) return is_begun_epoch_real();
  const std::uint64_t deadline_ns = deadline_after(timeout_ms);
  for (;;) {
    Look look{cursor_.state()};
    const bool is_found = find_next_epoch(Counted::here);
    if (is_found) cursor_.look_for_end();  // one that is known already is not awaited in `sleep`
    if (const auto comes = next_epoch_comes(look.state, is_found)) return comes;
    await_next_epoch(look, is_found);
    if (!sleep(look, deadline_ns)) return std::nullopt;
  }
}

// ---- what every call does

BATCHCAST_INLINE void RingReader::begin_call() {
  check();
  throw_complaint();
}

BATCHCAST_INLINE std::uint64_t RingReader::deadline_after(int timeout_ms) noexcept {
  if (timeout_ms < 0) return detail::reader::never_ns;
  return timeout_ms == 0 ? 0 : now_ns() + static_cast<std::uint64_t>(timeout_ms) * 1'000'000;
}

BATCHCAST_INLINE bool RingReader::sleep(const Look& look, std::uint64_t deadline_ns, bool counts) {
  const std::uint64_t now = now_ns();
  if (now >= deadline_ns) {
    look_whether_alive(now);
    return false;
  }
  const std::uint64_t left_ms = (deadline_ns - now + 999'999) / 1'000'000;
  const auto most_ms = static_cast<int>(std::min(detail::reader::sleep_ms_max, left_ms));
  const Woken woken = counts ? cursor_.wait(look.wanted, look.rows, look.state, most_ms)
                             : cursor_.sleep(look.wanted, look.rows, look.state, most_ms);
  if (woken == Woken::timed_out) look_whether_alive(0);
  check();
  host_.while_waiting();
  return true;
}

/// `now`: not more often than is worth it. 0: in any case.
BATCHCAST_INLINE void RingReader::look_whether_alive(std::uint64_t now) noexcept {
  if (now != 0 && now - looked_alive_ns_ < detail::reader::look_alive_every_ns) return;
  looked_alive_ns_ = now;
  if (!producer_dead_) producer_dead_ = host_.producer_is_dead();
}

BATCHCAST_INLINE bool RingReader::is_over(StreamState state) const noexcept {
  return detail::has_ended(state) || producer_dead_;
}

/// Of a stream that is over, whether a batch may be shorter than it would have been.
BATCHCAST_INLINE bool RingReader::takes_rest(StreamState state) const noexcept {
  return detail::has_ended(state) || (producer_dead_ && !options_.rides);
}

BATCHCAST_INLINE void RingReader::throw_over(StreamState state) const {
  throw_stream_over(board_, state, options_.stream, cursor_.position());
}

BATCHCAST_INLINE void RingReader::check() const {
  if (!revoked()) return;
  const std::string why = host_.why_revoked();
  throw Revoked(
      text("batchcast: stream `{}` went on without this consumer: {}. Samples of batches that it "
           "still held may have been overwritten: do not use them. Attach again to go on.",
           options_.stream, why));
}

BATCHCAST_INLINE void RingReader::throw_complaint() {
  if (!complaint_.empty()) throw ReceiptMismatch(std::exchange(complaint_, {}));
}

// ---- between epochs

/// The reader is in an epoch, or it has just begun the next one.
BATCHCAST_INLINE bool RingReader::enter_epoch(Look& look, Room room) {
  if (!between_epochs()) return true;
  if (!find_next_epoch(Counted::here)) {
    if (is_over(look.state)) throw_over(look.state);
    await_begin(look, false, room);
    return false;
  }
  begin_epoch();
  return true;
}

/// Whether it is known where the next epoch begins. `skipped`: who counts one that was skipped.
BATCHCAST_INLINE bool RingReader::find_next_epoch(Counted skipped) {
  if (cursor_.phase() == Phase::between) return true;
  if (cursor_.phase() == Phase::unplaced) return cursor_.find_epoch();
  if (!cursor_.end_skip()) return false;
  if (skipped == Counted::here) ordered::count(desk_.epochs_unknown);
  leases_.end_skip(cursor_.position());
  return true;
}

/// Before a sleep for the next epoch. `is_found`: where it begins is known, but not whether it may.
BATCHCAST_INLINE void RingReader::await_begin(Look& look, bool is_found, Room room) {
  const bool is_placed = is_found || cursor_.phase() == Phase::skipping;
  look.wanted = is_placed ? ReadCursor::endless : cursor_.position() + 1;
  if (room == Room::make) room_.make_for_skip();
  // Whatever comes next, no batch that this reader still holds may be what keeps it from coming.
  make_row_room(look, limits::position_max, look.wanted, room);
}

BATCHCAST_INLINE void RingReader::begin_epoch() noexcept {
  cursor_.begin_epoch();
  receipt_.begin(cursor_.place() == RowPlace{cursor_.epoch_start(), 0});
}

/// Of the epoch that was begun. One that was begun after the stream's end is none.
BATCHCAST_INLINE bool RingReader::is_begun_epoch_real() const noexcept {
  const StreamState state = cursor_.state();
  const bool over = state == StreamState::draining || state == StreamState::finished;
  return !over || cursor_.published() > cursor_.position();
}

/// Nothing while that is not known. Throws where the stream did not come to its end.
BATCHCAST_INLINE std::optional<bool> RingReader::next_epoch_comes(StreamState state,
                                                                  bool is_found) const {
  const std::uint64_t epochs = board_.head().epochs;
  if (is_found && cursor_.epochs_have_one_length() && epochs != 0 && cursor_.epoch() >= epochs) {
    return false;
  }
  if (is_found && cursor_.published() > cursor_.position()) return true;
  if (state == StreamState::draining || state == StreamState::finished) return false;
  if (is_over(state)) throw_over(state);
  return std::nullopt;
}

/// Before a sleep that ends once it is known whether the next epoch comes.
BATCHCAST_INLINE void RingReader::await_next_epoch(Look& look, bool is_found) {
  room_.make_for_skip();
  if (is_found) look.wanted = cursor_.position() + 1;
  make_row_room(look, limits::position_max, look.wanted, Room::make);
  if (!is_found) return;
  // Only where the epoch is known to exist: else the stream may end without more room.
  if (cursor_.epochs_have_one_length()) {
    room_.check(look.wanted);
  } else {
    static_cast<void>(room_.make(look.wanted));
  }
}

// ---- is the epoch over?

BATCHCAST_INLINE bool RingReader::end_epoch_if_over(Look& look, std::uint64_t samples) {
  do {
    if (cursor_.phase() == Phase::missed && missed_end()) return true;
    look.published = cursor_.look();
    if (cursor_.at_epoch_end()) {
      close_epoch();
      throw_complaint();
      return true;
    }
  } while (miss_overwritten() || rows_.drop_rest(look.published));
  if (!is_rest_left_out(look, samples)) return false;
  leave_epoch();
  throw_complaint();
  return true;
}

/// After a miss: whether the end of the epoch that was begun was among what was missed. Then that
/// epoch is over, and what comes next belongs to a later one.
BATCHCAST_INLINE bool RingReader::missed_end() {
  if (!cursor_.find_missed_end()) return false;
  ordered::count(desk_.epochs_unknown);
  return true;
}

/// `free` pace: skips what the producer wrote over before the reader came to it. False if nothing.
BATCHCAST_INLINE bool RingReader::miss_overwritten() {
  if (options_.pace != Pace::free) return false;
  const std::uint64_t oldest = oldest_there();
  if (cursor_.position() >= oldest) return false;
  const std::uint64_t target =
      after_miss(oldest, {cursor_.place(), cursor_.epoch(), cursor_.epoch_end()});
  const std::uint64_t lost = target - cursor_.position();
  receipt_.spoil();
  cursor_.miss(target);
  leases_.pass(target);
  ordered::count(desk_.skipped, lost);
  if (options_.on_miss == OnMiss::error && lost > 0) {
    throw Missed(
        text("batchcast: {} samples of stream `{}` were overwritten before this consumer of `free` "
             "pace came to them. It goes on at position {}. Give the stream more memory, choose "
             "pace `lockstep`, or on_miss `skip`.",
             lost, options_.stream, target));
  }
  return true;
}

/// No position is beyond `position_max`, and a reader that a board sent there would miss for ever.
BATCHCAST_INLINE std::uint64_t RingReader::oldest_there() const noexcept {
  const std::uint64_t oldest = oldest_held(ordered::load_kept_from(board_.progress()),
                                           ordered::get_acquire(board_.progress().valid_from));
  return std::min(oldest, limits::position_max);
}

/// Into the middle of what there is: at its very edge the next sample would be missed as well.
BATCHCAST_INLINE std::uint64_t RingReader::after_miss(std::uint64_t oldest,
                                                      const Place& place) const noexcept {
  const std::uint64_t published = cursor_.published();
  const std::uint64_t claimed = ordered::load_claimed(board_.progress());
  const std::uint64_t target =
      rows_.after_miss(oldest, published, saturating_sub(claimed, capacity_ / 2));
  return std::min(std::max({target, oldest, place.at.position}),
                  place.end.value_or(limits::position_max));
}

/// All of the epoch is published, and what is left of it makes no batch.
BATCHCAST_INLINE bool RingReader::is_rest_left_out(const Look& look,
                                                   std::uint64_t samples) noexcept {
  const std::optional<std::uint64_t>& end = cursor_.epoch_end();
  if (!end || look.published < *end) return false;
  if (rows_.cuts_rows()) {
    return rows_.cuts_nothing({cursor_.place(), look.published, end, samples});
  }
  return leaves_out(*end - cursor_.position(), samples);
}

/// Whether that rest of an epoch makes no batch.
BATCHCAST_INLINE bool RingReader::leaves_out(std::uint64_t left,
                                             std::uint64_t samples) const noexcept {
  return left < share_.whole(samples) && !share_.part_of(samples, left);
}

BATCHCAST_INLINE void RingReader::close_epoch() {
  const std::uint64_t epoch = cursor_.epoch();
  EpochReceipt::Verdict verdict = receipt_.compare(board_.epoch(epoch), epoch);
  bool differs = verdict == EpochReceipt::Verdict::mismatched;
  if (differs && revoked()) {  // ids may have been overwritten while they were read
    verdict = EpochReceipt::Verdict::unknown;
    differs = false;
  }
  count_receipt(epoch, verdict, differs ? receipt_.difference() : std::string());
  cursor_.end_epoch();
}

BATCHCAST_INLINE void RingReader::count_receipt(std::uint64_t epoch, EpochReceipt::Verdict verdict,
                                                const std::string& difference) {
  switch (verdict) {
    case EpochReceipt::Verdict::unknown:
      ordered::count(desk_.epochs_unknown);
      break;
    case EpochReceipt::Verdict::matched:
      ordered::count(desk_.epochs_matched);
      break;
    case EpochReceipt::Verdict::mismatched:
      ordered::count(desk_.epochs_mismatched);
      complaint_ = text(
          "batchcast: epoch {} of stream `{}` was not delivered as it was published: {}. Do not "
          "trust this epoch; please report this.",
          epoch, options_.stream, difference);
      break;
  }
}

BATCHCAST_INLINE void RingReader::leave_epoch() noexcept {
  if (pass_rest(Counted::here) == Rest::passed) close_epoch();
}

/// `counted`: who has the samples that are passed in a receipt.
BATCHCAST_INLINE RingReader::Rest RingReader::pass_rest(Counted counted) noexcept {
  if (between_epochs() || (cursor_.phase() == Phase::missed && missed_end())) return Rest::was_over;
  cursor_.look_for_end();
  if (!cursor_.epoch_end()) {
    cursor_.skip();
    leases_.skip(cursor_.epoch());
    receipt_.spoil();
    return Rest::skipped;
  }
  const std::uint64_t start = cursor_.epoch_start();
  if (cursor_.published() <= start && cursor_.position() <= start) {
    cursor_.leave_unbegun();  // no consumer has a sample of it: nothing is to be given up yet
    return Rest::unbegun;
  }
  const std::uint64_t end = *cursor_.epoch_end();
  count_rest(end, counted);
  cursor_.jump(end);
  leases_.pass(end);
  return Rest::passed;
}

BATCHCAST_INLINE void RingReader::count_rest(std::uint64_t end, Counted counted) noexcept {
  const std::uint64_t position = cursor_.position();
  // The producer does not keep the samples of a consumer that it evicted.
  const bool readable = options_.pace == Pace::lockstep && end - position <= capacity_ &&
                        cursor_.published() >= end && !revoked();
  if (!readable || counted == Counted::nowhere) {
    if (position < end) receipt_.spoil();
  } else {
    rows_.leave_out(cursor_.place(), end);
    if (counted == Counted::here) receipt_.add(sample_ids_.at(position, end - position));
  }
}

// ---- are the samples there?

/// Of a stream that is over, what is left of the epoch will do. Throws where nothing is.
BATCHCAST_INLINE bool RingReader::take_if_there(Look& look, std::uint64_t samples, Room room,
                                                Run& run) {
  if (rows_.cuts_rows()) return take_cut(look, samples, room, run);
  const std::uint64_t position = cursor_.position() + (cursor_.row() == 0 ? 0 : 1);
  look.wanted = saturating_add(position, share_.whole(samples));
  if (cursor_.epoch_end()) look.wanted = std::min(look.wanted, *cursor_.epoch_end());
  if (look.published >= look.wanted && cursor_.row() == 0)
    return deliver(samples, look.wanted - position, run);
  if (room == Room::make) room_.check(look.wanted);
  make_row_room(look, position, look.wanted, room);
  if (!is_over(look.state)) return false;
  const bool some_left =
      takes_rest(look.state) && look.published > position && options_.tail == Tail::keep;
  if (some_left && deliver(samples, look.published - position, run)) return true;
  throw_over(look.state);
}

/// Of the `there` samples at the cursor, this reader's share. False if it gets none.
BATCHCAST_INLINE bool RingReader::deliver(std::uint64_t samples, std::uint64_t there, Run& run) {
  const auto part = share_.part_of(samples, there);
  if (!part) return false;
  const std::uint64_t start = cursor_.position();
  run = run_of(*part, {{start, 0}, cursor_.epoch(), {}}, there);
  if (options_.pace == Pace::free) return true;
  run.lease = leases_.add(run.padding == 0 ? run.position : start, start + there);
  if (rows_.has_axes()) rows_.count_samples(run, part->dropped);
  if (run.own() != 0) receipt_.add(sample_ids_.at(run.position, run.own()));
  if (part->dropped != 0 && share_.is_first()) {
    receipt_.add(sample_ids_.at(start + there - part->dropped, part->dropped));
  }
  if (run.position != start) leases_.release_before_oldest();
  cursor_.take(run.size, run.next());
  return true;
}

BATCHCAST_INLINE Run RingReader::run_of(const BatchShare::Part& part, const Place& place,
                                        std::uint64_t there) noexcept {
  Run run;
  run.position = place.at.position + part.offset;
  run.size = part.size;
  run.epoch = place.epoch;
  run.padding = part.padding;
  run.batch_start = place.at.position;
  run.batch_size = there;
  return run;
}

BATCHCAST_INLINE bool RingReader::still_held(const Run& run) const noexcept {
  return ordered::load_kept_from_after_reading(board_.progress()) <= run.batch_start;
}

BATCHCAST_INLINE bool RingReader::copied(const Run& run,
                                         std::span<const std::uint64_t> sample_ids) {
  if (run.is_window()) return rows_.take_copied(run);
  if (!still_held(run)) return false;
  if (rows_.cuts_rows()) rows_.note_copied(run);
  receipt_.add(sample_ids.first(run.own()));
  cursor_.take(run.size, run.next());
  leases_.pass(cursor_.position());
  return true;
}

BATCHCAST_INLINE bool RingReader::give_back(std::uint64_t lease) noexcept {
  return leases_.give_back(lease);
}

// ---- with a budget of rows

BATCHCAST_INLINE void RingReader::make_row_room(Look& look, std::uint64_t begin,
                                                std::uint64_t needed, Room room) {
  look.wanted = rows_.make_room(begin, needed, look.wanted, room == Room::make, look.rows);
}

BATCHCAST_INLINE bool RingReader::take_cut(Look& look, std::uint64_t samples, Room room, Run& run) {
  const RowPlace place = cursor_.place();
  const RowReading::Samples there{place, look.published, cursor_.epoch_end(), samples};
  const RowReading::Found found = rows_.cut(there, takes_rest(look.state));
  if (!rows_.is_cut_sound(place.position)) return look.wanted = 0, false;
  if (found == RowReading::Found::more) {
    if (rows_.pass_dropped(there)) return look.wanted = 0, false;
    if (is_over(look.state)) throw_over(look.state);
    look.wanted = rows_.await(there, look.rows);
    make_row_room(look, place.position, look.published + 1, room);
    if (room == Room::make) room_.check(look.published + 1);
    return false;
  }
  rows_.refuse(found, there);
  if (found != RowReading::Found::batch) throw_over(look.state);
  run = rows_.run(there, cursor_.epoch());
  if (options_.pace != Pace::free) rows_.deliver(run);
  return true;
}

BATCHCAST_INLINE ReaderStatus RingReader::status() const noexcept {
  ReaderStatus status = detail::reader::status_of(desk_);
  status.rows = receipt_.rows();
  return status;
}

}  // namespace batchcast::inline v0_1
