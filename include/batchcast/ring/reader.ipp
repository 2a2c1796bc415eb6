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
      leases_(board, desk) {
  move_to(ordered::load_released(desk));
}

BATCHCAST_INLINE void RingReader::move_to(std::uint64_t position) {
  const std::uint64_t skipping = ordered::load_skipping(desk_);
  leases_.restart(position, skipping != 0);
  cursor_.move_to(position, skipping);
}

BATCHCAST_INLINE Next RingReader::next(std::uint64_t samples, int timeout_ms, Run& run) {
  BATCHCAST_ASSERT(samples > 0);
  check();
  throw_complaint();
  const std::uint64_t deadline_ns = detail::reader::deadline_after(timeout_ms);
  for (;;) {
    const StreamState state = cursor_.state();  // before what it is the end of
    if (cursor_.phase() == Phase::missed && missed_end()) return Next::end_of_epoch;
    if (cursor_.phase() != Phase::reading) {
      if (!find_next_epoch()) {
        if (is_over(state)) throw_over(state);
        const bool skips = cursor_.phase() == Phase::skipping;
        const std::uint64_t wanted = skips ? ReadCursor::endless : cursor_.position() + 1;
        if (!sleep(wanted, state, deadline_ns)) return Next::timed_out;
        continue;
      }
      begin_epoch();
    }
    const std::uint64_t published = cursor_.look();
    if (cursor_.at_epoch_end()) {
      close_epoch();
      throw_complaint();
      return Next::end_of_epoch;
    }
    if (options_.pace == Pace::free) {
      const std::uint64_t oldest = oldest_held(ordered::load_claimed(board_.progress()), capacity_,
                                               ordered::get_acquire(board_.progress().valid_from));
      if (cursor_.position() < oldest) {
        miss(oldest);
        continue;
      }
    }
    std::uint64_t end = cursor_.position() + samples;
    if (cursor_.epoch_end()) end = std::min(end, *cursor_.epoch_end());
    if (published >= end) {
      if (end - cursor_.position() < samples && options_.tail == Tail::drop) {
        leave_epoch();
        throw_complaint();
        return Next::end_of_epoch;
      }
      deliver(end - cursor_.position(), run);
      return Next::batch;
    }
    check_room(end);
    if (is_over(state)) {
      if (published > cursor_.position() && options_.tail == Tail::keep) {
        deliver(published - cursor_.position(), run);
        return Next::batch;
      }
      throw_over(state);
    }
    if (!sleep(end, state, deadline_ns)) return Next::timed_out;
  }
}

BATCHCAST_INLINE std::optional<bool> RingReader::has_next_epoch(int timeout_ms) {
  check();
  throw_complaint();
  if (!between_epochs()) return true;
  const std::uint64_t deadline_ns = detail::reader::deadline_after(timeout_ms);
  const std::uint64_t epochs = board_.head().epochs;
  for (;;) {
    const StreamState state = cursor_.state();
    const bool found = find_next_epoch();
    if (found) cursor_.look_for_end();  // one that is known already is not awaited in `sleep`
    if (found && cursor_.epochs_have_one_length() && epochs != 0 && cursor_.epoch() >= epochs) {
      return false;
    }
    if (found && cursor_.published() > cursor_.position()) return true;
    if (state == StreamState::draining || state == StreamState::finished) return false;
    if (is_over(state)) throw_over(state);
    const std::uint64_t wanted = found ? cursor_.position() + 1 : ReadCursor::endless;
    if (!sleep(wanted, state, deadline_ns)) return std::nullopt;
  }
}

BATCHCAST_INLINE bool RingReader::find_next_epoch() {
  if (cursor_.phase() == Phase::between) return true;
  if (cursor_.phase() == Phase::unplaced) return cursor_.find_epoch();
  if (!cursor_.end_skip()) return false;
  ordered::count(desk_.epochs_unknown);
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
}

BATCHCAST_INLINE void RingReader::deliver(std::uint64_t size, Run& run) {
  run.position = cursor_.position();
  run.size = size;
  run.epoch = cursor_.epoch();
  run.lease = 0;
  if (options_.pace == Pace::free) return;
  run.lease = leases_.add(run.position, size);
  receipt_.add(sample_ids_.at(run.position, size));
  cursor_.take(size);
}

BATCHCAST_INLINE bool RingReader::copied(const Run& run,
                                         std::span<const std::uint64_t> sample_ids) {
  if (ordered::load_claimed_after_reading(board_.progress()) >
      saturating_add(run.position, capacity_)) {
    return false;
  }
  receipt_.add(sample_ids);
  cursor_.take(run.size);
  leases_.pass(cursor_.position());
  return true;
}

BATCHCAST_INLINE bool RingReader::give_back(std::uint64_t lease) noexcept {
  return leases_.give_back(lease);
}

BATCHCAST_INLINE void RingReader::leave_epoch() noexcept {
  if (between_epochs() || (cursor_.phase() == Phase::missed && missed_end())) return;
  cursor_.look_for_end();
  if (!cursor_.epoch_end()) {
    cursor_.skip();
    leases_.skip(cursor_.epoch());
    return;
  }
  if (cursor_.published() <= cursor_.epoch_start()) {
    cursor_.leave_unbegun();  // no consumer has a sample of it: there is nothing to let go of yet
    return;
  }
  const std::uint64_t position = cursor_.position();
  const std::uint64_t end = *cursor_.epoch_end();
  // The producer does not keep the samples of a consumer that it evicted.
  const bool readable = options_.pace == Pace::lockstep && end - position <= capacity_ &&
                        cursor_.published() >= end && !revoked();
  if (readable) {
    receipt_.add(sample_ids_.at(position, end - position));
  } else if (position < end) {
    receipt_.spoil();
  }
  cursor_.jump(end);
  leases_.pass(end);
  close_epoch();
}

BATCHCAST_INLINE void RingReader::close_epoch() {
  const std::uint64_t epoch = cursor_.epoch();
  switch (receipt_.compare(board_.epoch(epoch), epoch)) {
    case EpochReceipt::Verdict::unknown:
      ordered::count(desk_.epochs_unknown);
      break;
    case EpochReceipt::Verdict::matched:
      ordered::count(desk_.epochs_matched);
      break;
    case EpochReceipt::Verdict::mismatched:
      ordered::count(desk_.epochs_mismatched);
      complaint_ = "batchcast: epoch " + std::to_string(epoch) + " of stream `" + options_.stream +
                   "` was not delivered as it was published: " + receipt_.difference() +
                   ". Do not trust this epoch; please report this.";
      break;
  }
  cursor_.end_epoch();
}

BATCHCAST_INLINE void RingReader::throw_complaint() {
  if (!complaint_.empty()) throw ReceiptMismatch(std::exchange(complaint_, {}));
}

BATCHCAST_INLINE void RingReader::miss(std::uint64_t oldest) {
  // Into the middle of what there is: at its very edge the next sample would be missed as well.
  const std::uint64_t claimed = ordered::load_claimed(board_.progress());
  std::uint64_t target = std::min(saturating_sub(claimed, capacity_ / 2), cursor_.published());
  target = std::max({target, oldest, cursor_.position()});
  if (cursor_.epoch_end()) target = std::min(target, *cursor_.epoch_end());
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
                                        std::uint64_t deadline_ns) {
  const std::uint64_t now = now_ns();
  if (now >= deadline_ns) {
    look_whether_alive(now);
    return false;
  }
  const std::uint64_t left_ms = (deadline_ns - now + 999'999) / 1'000'000;
  const auto most_ms = static_cast<int>(std::min(detail::reader::sleep_ms_max, left_ms));
  if (cursor_.wait(wanted, seen, most_ms) == Woken::timed_out) look_whether_alive(0);
  check();
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
  throw Revoked("batchcast: stream `" + options_.stream +
                "` went on without this consumer: " + host_.why_revoked() +
                ". Samples of batches that it still held may have been overwritten: do not use "
                "them. Attach again to go on.");
}

BATCHCAST_INLINE void RingReader::check_room(std::uint64_t end) {
  const auto held = leases_.in_the_way_of(end, host_);
  if (!held) return;
  throw RingTooSmall("batchcast: this consumer holds " + std::to_string(held->leases) +
                     " batches, the oldest from position " + std::to_string(held->oldest) +
                     " on, and asks for samples up to " + std::to_string(end - 1) +
                     "; the ring of stream `" + options_.stream + "` spans " +
                     std::to_string(capacity_) +
                     " samples. Drop batches sooner, give the stream more memory (" +
                     options_.memory_option + "), or copy batches with access = private.");
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
  return status;
}

}  // namespace batchcast::inline v0_1
