// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/reader.hpp>

#include <batchcast/core/assert.hpp>
#include <batchcast/core/clock.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/inline.hpp>
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

inline std::uint64_t deadline_after(int timeout_ms) noexcept {
  if (timeout_ms < 0) return never_ns;
  return timeout_ms == 0 ? 0 : now_ns() + static_cast<std::uint64_t>(timeout_ms) * 1'000'000;
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
      cursor_(board, desk, options_.spin_ns),
      leases_(board, desk),
      room_(leases_, host, {options_.stream, options_.memory_option, capacity_}),
      share_(board, desk, options_.group, options_.tail) {
  move_to(ordered::load_released(desk));
}

BATCHCAST_INLINE void RingReader::move_to(std::uint64_t position) {
  const std::uint64_t skipping = ordered::load_skipping(desk_);
  if (!between_epochs()) ordered::count(desk_.epochs_unknown);  // it is not read to its end
  leases_.restart(position, skipping != 0);
  cursor_.move_to(position, skipping);
}

BATCHCAST_INLINE Next RingReader::next(std::uint64_t samples, int timeout_ms, Run& run, Room room) {
  BATCHCAST_ASSERT(samples > 0);
  check();
  throw_complaint();
  const std::uint64_t deadline_ns = detail::reader::deadline_after(timeout_ms);
  for (;;) {
    const StreamState state = cursor_.state();  // before what it is the end of
    if (cursor_.phase() == Phase::missed && missed_end()) return Next::end_of_epoch;
    if (cursor_.phase() != Phase::reading) {
      const bool is_placed = find_next_epoch();
      if (!is_placed && is_over(state)) throw_over(state);
      if (!may_begin(state) || !is_placed) {
        const bool waits = is_placed || cursor_.phase() == Phase::skipping;
        const std::uint64_t wanted = waits ? ReadCursor::endless : cursor_.position() + 1;
        if (room == Room::make) room_.make_for_skip();
        if (!sleep(wanted, state, deadline_ns)) return Next::timed_out;
        continue;
      }
      throw_complaint();
      begin_epoch();
    }
    const std::uint64_t published = cursor_.look();
    const bool is_at_end = cursor_.at_epoch_end();
    if (is_at_end) close_epoch();
    if (is_at_end || group_ends_here()) {
      throw_complaint();
      return Next::end_of_epoch;
    }
    if (options_.pace == Pace::free) {
      const std::uint64_t oldest = oldest_there();
      if (cursor_.position() < oldest) {
        miss(oldest);
        continue;
      }
    }
    std::uint64_t end = saturating_add(cursor_.position(), share_.whole(samples));
    if (cursor_.epoch_end()) end = std::min(end, *cursor_.epoch_end());
    if (published >= end) {
      if (deliver(samples, end - cursor_.position(), run)) return Next::batch;
      pass_rest(false);
      throw_complaint();
      return Next::end_of_epoch;
    }
    if (room == Room::make) room_.check(end);
    if (is_over(state)) {
      const bool some_left = published > cursor_.position() && options_.tail == Tail::keep;
      if (some_left && deliver(samples, published - cursor_.position(), run)) return Next::batch;
      throw_over(state);
    }
    if (!sleep(end, state, deadline_ns)) return Next::timed_out;
  }
}

// ---- a look at what comes next

BATCHCAST_INLINE bool RingReader::peek(std::uint64_t samples, int timeout_ms, Run& run) {
  BATCHCAST_ASSERT(samples > 0);
  check();
  const std::uint64_t deadline_ns = detail::reader::deadline_after(timeout_ms);
  for (;;) {
    const StreamState state = cursor_.state();            // before what it is the end of
    const std::uint64_t published = cursor_.published();  // before the ends of epochs
    const std::optional<Place> place = next_place(samples);
    std::uint64_t wanted = ReadCursor::endless;
    if (place) {
      wanted = std::min(saturating_add(place->position, share_.whole(samples)),
                        place->end.value_or(limits::position_max));
      const bool whole = published >= wanted;
      if (whole || (is_over(state) && options_.tail == Tail::keep)) {
        if (const auto there = run_at(*place, samples, std::min(published, wanted))) {
          run = *there;
          return true;
        }
      }
      if (whole) {
        throw InvalidArgument("batchcast: epoch " + std::to_string(place->epoch) + " of stream `" +
                              options_.stream + "` has no batch of " + std::to_string(samples) +
                              " samples: it is shorter, and its tail is dropped.");
      }
      room_.check(wanted);
    }
    if (is_over(state)) throw_over(state);
    room_.make_for_skip();
    if (!sleep(wanted, state, deadline_ns, false)) return false;
  }
}

/// Where the next batch begins; nothing while the board does not tell its epoch.
BATCHCAST_INLINE std::optional<RingReader::Place> RingReader::next_place(std::uint64_t samples) {
  if (share_.is_group()) {
    cursor_.note_group();
    if (!between_epochs()) check_group(cursor_.epoch());
  }
  if (cursor_.phase() == Phase::missed) static_cast<void>(missed_end());
  if (cursor_.phase() == Phase::unplaced && !cursor_.find_epoch()) return std::nullopt;
  cursor_.look_for_end();
  Place place{cursor_.position(), cursor_.epoch(), cursor_.epoch_end()};
  if (options_.pace == Pace::free && place.position < oldest_there()) {
    place.position = after_miss(oldest_there(), place);
  }
  const bool has_batch =
      !is_at_end_of_epoch() &&
      (!place.end || (place.position < *place.end && run_at(place, samples, *place.end)));
  if (has_batch) return place;
  if (!place.end) return std::nullopt;
  return Place{*place.end, place.epoch + 1, cursor_.end_of(place.epoch + 1)};
}

/// The epoch of the cursor has no further batch for this reader: it is over, or was left.
BATCHCAST_INLINE bool RingReader::is_at_end_of_epoch() const noexcept {
  if (cursor_.phase() == Phase::skipping) return true;
  if (between_epochs()) return false;
  return cursor_.at_epoch_end() ||
         (share_.is_group() && share_.ends_here(cursor_.epoch(), cursor_.position()));
}

/// The run of this reader among the samples below `published`; nothing where it gets none.
BATCHCAST_INLINE std::optional<Run> RingReader::run_at(const Place& place, std::uint64_t samples,
                                                       std::uint64_t published) const noexcept {
  if (published <= place.position) return std::nullopt;
  const std::uint64_t there = std::min(published - place.position, share_.whole(samples));
  const auto part = share_.part_of(samples, there);
  return part ? std::optional(run_of(*part, place, there)) : std::nullopt;
}

BATCHCAST_INLINE std::optional<bool> RingReader::has_next_epoch(int timeout_ms) {
  check();
  throw_complaint();
  if (!between_epochs()) {
    // One that was begun in vain, for the stream was over, is none.
    const StreamState state = cursor_.state();
    const bool over = state == StreamState::draining || state == StreamState::finished;
    return !over || cursor_.published() > cursor_.position();
  }
  const std::uint64_t deadline_ns = detail::reader::deadline_after(timeout_ms);
  const std::uint64_t epochs = board_.head().epochs;
  for (;;) {
    const StreamState state = cursor_.state();
    const bool found = find_next_epoch();
    if (found) cursor_.look_for_end();  // one that is known already is not awaited in `sleep`
    const bool met = has_met(state);
    if (met) {
      throw_complaint();
      if (found && cursor_.epochs_have_one_length() && epochs != 0 && cursor_.epoch() >= epochs) {
        return false;
      }
      const bool more = found && cursor_.published() > cursor_.position();
      if (!more && (state == StreamState::draining || state == StreamState::finished)) return false;
      if (!more && is_over(state)) throw_over(state);
      check_group(share_.next_epoch().value_or(cursor_.epoch()));
      if (more) return true;
    }
    const std::uint64_t wanted = found && met ? cursor_.position() + 1 : ReadCursor::endless;
    room_.make_for_skip();
    if (found && met) {
      // Only where the epoch is known to exist: else the stream may end without more room.
      if (cursor_.epochs_have_one_length()) {
        room_.check(wanted);
      } else {
        static_cast<void>(room_.make(wanted));
      }
    }
    if (!sleep(wanted, state, deadline_ns)) return std::nullopt;
  }
}

/// Between epochs: whether the next one may be begun, as far as the group is concerned.
BATCHCAST_INLINE bool RingReader::may_begin(StreamState state) {
  if (!share_.is_group()) return true;
  const bool has = has_met(state);
  if (!has) cursor_.look_for_end();  // one that is known already is not awaited in `sleep`
  const std::uint64_t epoch = share_.next_epoch().value_or(cursor_.epoch());
  const std::uint64_t epochs = board_.head().epochs;
  const bool exists = !cursor_.epochs_have_one_length() || epochs == 0 || epoch < epochs;
  if (exists) check_group(epoch);
  return has;
}

/// Between epochs: all ranks have ended the last one, or it is known that not all will.
BATCHCAST_INLINE bool RingReader::has_met(StreamState state) {
  if (!share_.is_group()) return true;
  cursor_.note_group();
  if (!share_.awaits_receipt()) return true;
  // While a finished stream drains its producer still tells, unless it gave up waiting and ended.
  const bool told_no_more =
      producer_dead_ ||
      (detail::has_ended(state) && (state != StreamState::draining || host_.is_hung_up()));
  const auto receipt = share_.receipt();  // after that: it may be the last thing told
  if (!receipt && !told_no_more && !share_.will_not_meet()) return false;
  check();  // the entry may be another consumer's by now
  share_.count_receipt();
  switch (receipt.value_or(GroupReceipt::unknown)) {
    case GroupReceipt::unknown:
      count_receipt(EpochReceipt::Verdict::unknown, {});
      break;
    case GroupReceipt::matched:
      count_receipt(EpochReceipt::Verdict::matched, {});
      break;
    case GroupReceipt::mismatched:
      count_receipt(EpochReceipt::Verdict::mismatched,
                    "the samples of all ranks of group `" + share_.group().name +
                        "` together are others than were published");
      break;
  }
  return true;
}

/// In an epoch of a group: whether a rank left it here or before. Then it is over for this one too.
BATCHCAST_INLINE bool RingReader::group_ends_here() {
  if (!share_.is_group()) return false;
  cursor_.note_group();
  check_group(cursor_.epoch());
  if (!share_.ends_here(cursor_.epoch(), cursor_.position())) return false;
  check();  // the entry may be another consumer's by now
  pass_rest(true);
  return true;
}

/// Throws GroupBroken if a rank is gone without which that epoch cannot be had.
BATCHCAST_INLINE void RingReader::check_group(std::uint64_t epoch) {
  if (!share_.is_group()) return;
  const auto lost = share_.lost_for(epoch);
  if (!lost) return;
  check();  // the entry may be another consumer's by now
  // That rank may have gone because the stream is over, which this one is to be told as well.
  const StreamState state = cursor_.state();
  if (is_over(state) && cursor_.published() <= cursor_.position()) throw_over(state);
  {
    const std::lock_guard lock(broken_mutex_);
    broken_ = lost->text();
  }
  host_.give_up_place();
  throw_broken();
}

BATCHCAST_INLINE bool RingReader::find_next_epoch() {
  if (cursor_.phase() == Phase::between) return true;
  if (cursor_.phase() == Phase::unplaced) return cursor_.find_epoch();
  if (!cursor_.end_skip()) return false;
  if (!share_.is_group()) ordered::count(desk_.epochs_unknown);  // else once all ranks have met
  leases_.end_skip(cursor_.position());
  return true;
}

/// After a miss: whether the end of the epoch that was begun was among what was missed. Then that
/// epoch is over, and what comes next belongs to a later one.
BATCHCAST_INLINE bool RingReader::missed_end() {
  if (!cursor_.find_missed_end()) return false;
  ordered::count(desk_.epochs_unknown);
  return true;
}

BATCHCAST_INLINE void RingReader::begin_epoch() noexcept {
  cursor_.begin_epoch();
  receipt_.begin(cursor_.position() == cursor_.epoch_start());
  share_.begin_epoch(cursor_.epoch());
}

/// Of the `there` samples at the cursor, what is this consumer's. False if it gets none.
BATCHCAST_INLINE bool RingReader::deliver(std::uint64_t samples, std::uint64_t there, Run& run) {
  const auto part = share_.part_of(samples, there);
  if (!part) return false;
  const std::uint64_t start = cursor_.position();
  run = run_of(*part, {start, cursor_.epoch(), {}}, there);
  if (options_.pace == Pace::free) return true;
  run.lease = leases_.add(run.padding == 0 ? run.position : start, start + there);
  if (run.own() != 0) receipt_.add(sample_ids_.at(run.position, run.own()));
  if (part->dropped != 0 && share_.group().rank == 0) {
    receipt_.add(sample_ids_.at(start + there - part->dropped, part->dropped));
  }
  cursor_.take(run.size, there);
  return true;
}

BATCHCAST_INLINE Run RingReader::run_of(const GroupShare::Part& part, const Place& place,
                                        std::uint64_t there) noexcept {
  Run run;
  run.position = place.position + part.offset;
  run.size = part.size;
  run.epoch = place.epoch;
  run.padding = part.padding;
  run.batch_start = place.position;
  run.batch_size = there;
  return run;
}

BATCHCAST_INLINE bool RingReader::still_held(const Run& run) const noexcept {
  return ordered::load_claimed_after_reading(board_.progress()) <=
         saturating_add(run.batch_start, capacity_);
}

BATCHCAST_INLINE bool RingReader::copied(const Run& run,
                                         std::span<const std::uint64_t> sample_ids) {
  if (!still_held(run)) return false;
  receipt_.add(sample_ids.first(run.own()));
  cursor_.take(run.size, run.batch_size);
  leases_.pass(cursor_.position());
  return true;
}

BATCHCAST_INLINE bool RingReader::give_back(std::uint64_t lease) noexcept {
  return leases_.give_back(lease);
}

BATCHCAST_INLINE void RingReader::leave_epoch() noexcept { pass_rest(share_.is_group()); }

/// Lets go of what is left of the epoch. `early`: the other ranks of the group will, too.
BATCHCAST_INLINE void RingReader::pass_rest(bool early) noexcept {
  if (between_epochs() || (cursor_.phase() == Phase::missed && missed_end())) return;
  const std::uint64_t position = cursor_.position();
  cursor_.look_for_end();
  if (!cursor_.epoch_end()) {
    cursor_.skip();
    leases_.skip(cursor_.epoch());
    receipt_.spoil();
    if (share_.is_group()) end_epoch_of_rank(position, early);
    return;
  }
  if (cursor_.published() <= cursor_.epoch_start()) {
    cursor_.leave_unbegun();  // no consumer has a sample of it: there is nothing to let go of yet
    share_.leave_unbegun();
    return;
  }
  const std::uint64_t end = *cursor_.epoch_end();
  early = early && position < end;
  // The producer does not keep the samples of a consumer that it evicted.
  const bool readable = options_.pace == Pace::lockstep && end - position <= capacity_ &&
                        cursor_.published() >= end && !revoked();
  // Of what no rank of a group gets, the first one has the receipt.
  const bool counts = readable && !early;
  if (counts && (!share_.is_group() || share_.group().rank == 0)) {
    receipt_.add(sample_ids_.at(position, end - position));
  } else if (position < end && !counts) {
    receipt_.spoil();
  }
  cursor_.jump(end);
  leases_.pass(end);
  if (share_.is_group()) {
    end_epoch_of_rank(position, early);
    cursor_.end_epoch();
  } else {
    close_epoch();
  }
}

BATCHCAST_INLINE void RingReader::close_epoch() {
  if (share_.is_group()) {
    end_epoch_of_rank(cursor_.position(), false);
  } else {
    const std::uint64_t epoch = cursor_.epoch();
    const EpochReceipt::Verdict verdict = receipt_.compare(board_.epoch(epoch), epoch);
    const bool differs = verdict == EpochReceipt::Verdict::mismatched;
    count_receipt(verdict, differs ? receipt_.difference() : std::string());
  }
  cursor_.end_epoch();
}

/// Tells the producer, which compares the receipts of all ranks.
BATCHCAST_INLINE void RingReader::end_epoch_of_rank(std::uint64_t position, bool early) noexcept {
  const std::uint64_t epoch = cursor_.epoch();
  share_.end_epoch(epoch);
  host_.tell_epoch_end({epoch, position, early, receipt_.is_whole(), receipt_.sum()});
}

/// Of the epoch that ended last.
BATCHCAST_INLINE void RingReader::count_receipt(EpochReceipt::Verdict verdict,
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
      complaint_ = "batchcast: epoch " +
                   std::to_string(share_.next_epoch().value_or(cursor_.epoch() + 1) - 1) +
                   " of stream `" + options_.stream +
                   "` was not delivered as it was published: " + difference +
                   ". Do not trust this epoch; please report this.";
      break;
  }
}

BATCHCAST_INLINE void RingReader::throw_complaint() {
  if (!complaint_.empty()) throw ReceiptMismatch(std::exchange(complaint_, {}));
}

BATCHCAST_INLINE std::uint64_t RingReader::oldest_there() const noexcept {
  return oldest_held(ordered::load_claimed(board_.progress()), capacity_,
                     ordered::get_acquire(board_.progress().valid_from));
}

/// Into the middle of what there is: at its very edge the next sample would be missed as well.
BATCHCAST_INLINE std::uint64_t RingReader::after_miss(std::uint64_t oldest,
                                                      const Place& place) const noexcept {
  const std::uint64_t claimed = ordered::load_claimed(board_.progress());
  const std::uint64_t target =
      std::min(saturating_sub(claimed, capacity_ / 2), cursor_.published());
  return std::min(std::max({target, oldest, place.position}),
                  place.end.value_or(limits::position_max));
}

BATCHCAST_INLINE void RingReader::miss(std::uint64_t oldest) {
  const std::uint64_t target =
      after_miss(oldest, {cursor_.position(), cursor_.epoch(), cursor_.epoch_end()});
  const std::uint64_t lost = target - cursor_.position();
  receipt_.spoil();
  cursor_.miss(target);
  leases_.pass(target);
  ordered::count(desk_.skipped, lost);
  if (options_.on_miss == OnMiss::error && lost > 0) {
    throw Missed(
        "batchcast: " + std::to_string(lost) + " samples of stream `" + options_.stream +
        "` were overwritten before this consumer of `free` pace came to them. It goes on at "
        "position " +
        std::to_string(target) +
        ". Give the stream more memory, choose pace `lockstep`, or on_miss `skip`.");
  }
}

BATCHCAST_INLINE bool RingReader::sleep(std::uint64_t wanted, StreamState seen,
                                        std::uint64_t deadline_ns, bool counts) {
  const std::uint64_t now = now_ns();
  if (now >= deadline_ns) {
    look_whether_alive(now);
    return false;
  }
  const std::uint64_t left_ms = (deadline_ns - now + 999'999) / 1'000'000;
  const auto most_ms = static_cast<int>(std::min(detail::reader::sleep_ms_max, left_ms));
  const Woken woken =
      counts ? cursor_.wait(wanted, seen, most_ms) : cursor_.sleep(wanted, seen, most_ms);
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

BATCHCAST_INLINE void RingReader::check() const {
  if (!revoked()) return;
  const std::string why = why_revoked();
  throw Revoked("batchcast: stream `" + options_.stream +
                "` went on without this consumer: " + why +
                ". Samples of batches that it still held may have been overwritten: do not use "
                "them. Attach again to go on.");
}

/// Throws GroupBroken where that is the reason.
BATCHCAST_INLINE std::string RingReader::why_revoked() const {
  std::string why;
  {
    const std::lock_guard lock(broken_mutex_);
    // The farewell may be late, and is waited for only so long.
    if (const auto lost = share_.lost_before_eviction(); lost && broken_.empty()) {
      broken_ = lost->text();
    }
    if (broken_.empty()) {
      why = host_.why_revoked();
      if (host_.group_broke()) broken_ = why;
    }
    if (broken_.empty()) return why;
  }
  throw_broken();
}

BATCHCAST_INLINE void RingReader::throw_broken() const {
  const std::lock_guard lock(broken_mutex_);
  throw GroupBroken("batchcast: group `" + share_.group().name + "` of stream `" + options_.stream +
                    "` is broken: " + broken_ +
                    ". Samples of batches that this rank still held may have been overwritten: do "
                    "not use them. Attach all ranks again to go on.");
}

BATCHCAST_INLINE void RingReader::throw_over(StreamState state) const {
  throw_stream_over(board_, state, options_.stream, cursor_.position());
}

BATCHCAST_INLINE ReaderStatus RingReader::status() const noexcept {
  ReaderStatus status;
  status.samples = ordered::get(desk_.samples);
  status.batches = ordered::get(desk_.batches);
  status.skipped = ordered::get(desk_.skipped);
  status.waits = ordered::get(desk_.waits);
  status.wait_ns = ordered::get(desk_.wait_ns);
  status.late_wakeups = ordered::get(desk_.late_wakeups);
  status.epochs_matched = ordered::get(desk_.epochs_matched);
  status.epochs_mismatched = ordered::get(desk_.epochs_mismatched);
  status.epochs_unknown = ordered::get(desk_.epochs_unknown);
  status.leases_held = ordered::get(desk_.leases_held);
  if (const auto receipt = share_.receipt()) {  // of the last epoch, counted by the next call
    status.epochs_matched += *receipt == GroupReceipt::matched ? 1U : 0U;
    status.epochs_mismatched += *receipt == GroupReceipt::mismatched ? 1U : 0U;
    status.epochs_unknown += *receipt == GroupReceipt::unknown ? 1U : 0U;
  }
  return status;
}

}  // namespace batchcast::inline v0_1
