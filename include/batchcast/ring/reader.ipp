// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/reader.hpp>

#include <batchcast/core/assert.hpp>
#include <batchcast/core/clock.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/inline.hpp>
#include <batchcast/ring/futex.hpp>
#include <batchcast/ring/stream_over.hpp>

#include <algorithm>
#include <utility>

// The cursor and its epochs. Leases and sleep are in reader_leases.ipp and reader_sleep.ipp.
namespace batchcast::inline v0_1 {
namespace detail::reader {

inline constexpr std::uint64_t never_ns = ~std::uint64_t{0};
inline constexpr std::uint64_t endless = limits::position_max;

inline bool is_over(StreamState state) noexcept {
  return state != StreamState::starting && state != StreamState::running;
}

inline std::uint64_t deadline_after(int timeout_ms) noexcept {
  if (timeout_ms < 0) return never_ns;
  return timeout_ms == 0 ? 0 : now_ns() + static_cast<std::uint64_t>(timeout_ms) * 1'000'000;
}

}  // namespace detail::reader

BATCHCAST_INLINE RingReader::RingReader(BoardView board, Desk& desk, SampleIds sample_ids,
                                        ReaderHost& host, Options options)
    : board_(board),
      desk_(desk),
      entry_(board.consumer(desk.index)),
      consumer_id_(desk.consumer_id),
      sample_ids_(sample_ids),
      host_(host),
      options_(std::move(options)),
      capacity_(board.head().capacity),
      samples_per_epoch_(board.head().samples_per_epoch),
      leases_(64),
      spinner_(options_.spin_ns) {
  move_to(ordered::load_released(desk));
}

BATCHCAST_INLINE void RingReader::move_to(std::uint64_t position) {
  std::lock_guard lock(mutex_);
  position_ = released_ = position;
  ordered::set(desk_.cursor, position);
  between_ = true;
  const std::uint64_t skipping = ordered::load_skipping(desk_);
  skip_wanted_ = skip_announced_ = skipping != 0;
  found_ = skipping == 0 && find_epoch();
  if (skipping != 0) {
    epoch_ = skipping - 1;
  } else if (!found_) {
    epoch_ = ordered::load_announced(board_.progress());  // or a later one: `next` will see
  }
}

BATCHCAST_INLINE Next RingReader::next(std::uint64_t samples, int timeout_ms, Run& run) {
  BATCHCAST_ASSERT(samples > 0);
  check();
  throw_complaint();
  const std::uint64_t deadline_ns = detail::reader::deadline_after(timeout_ms);
  for (;;) {
    const StreamState state =
        ordered::load_state(board_.progress());  // before what it is the end of
    if (!found_ && !between_ && missed_end()) return Next::end_of_epoch;
    if (skip_wanted_ ? !end_skip() : !found_ && !find_epoch()) {
      if (detail::reader::is_over(state) || producer_dead_) throw_over(state);
      if (!sleep(skip_wanted_ ? detail::reader::endless : position_ + 1, state, deadline_ns)) {
        return Next::timed_out;
      }
      continue;
    }
    if (between_) begin_epoch();
    // First what is there, then whether an end is known: else an end and the next epoch's first
    // samples that come in between would make one batch of both.
    const std::uint64_t published = ordered::load_published(board_.progress());
    look_for_end();
    if (epoch_end_ && position_ >= *epoch_end_) {
      close_epoch();
      throw_complaint();
      return Next::end_of_epoch;
    }
    if (options_.pace == Pace::free) {
      const std::uint64_t oldest = oldest_held(ordered::load_claimed(board_.progress()), capacity_,
                                               ordered::get_acquire(board_.progress().valid_from));
      if (position_ < oldest) {
        miss(oldest);
        continue;
      }
    }
    std::uint64_t end = position_ + samples;
    if (epoch_end_) end = std::min(end, *epoch_end_);
    if (published < end) {  // it would wait for itself for ever
      const std::lock_guard lock(mutex_);
      check_room(end);
    }
    if (published >= end) {
      if (end - position_ < samples && options_.tail == Tail::drop) {
        leave_epoch();
        throw_complaint();
        return Next::end_of_epoch;
      }
      deliver(end - position_, run);
      return Next::batch;
    }
    if (detail::reader::is_over(state) || producer_dead_) {
      if (published > position_ && options_.tail == Tail::keep) {
        deliver(published - position_, run);
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
  if (!between_) return true;
  const std::uint64_t deadline_ns = detail::reader::deadline_after(timeout_ms);
  const std::uint64_t epochs = board_.head().epochs;
  for (;;) {
    const StreamState state = ordered::load_state(board_.progress());
    const bool stands = skip_wanted_ ? end_skip() : found_ || find_epoch();
    if (stands && samples_per_epoch_ != 0 && epochs != 0 && epoch_ >= epochs) return false;
    if (stands && ordered::load_published(board_.progress()) > position_) return true;
    if (state == StreamState::draining || state == StreamState::finished) return false;
    if (detail::reader::is_over(state) || producer_dead_) throw_over(state);
    if (!sleep(stands ? position_ + 1 : detail::reader::endless, state, deadline_ns))
      return std::nullopt;
  }
}

BATCHCAST_INLINE bool RingReader::find_epoch() {
  if (samples_per_epoch_ != 0) {
    epoch_ = position_ / samples_per_epoch_;
    epoch_start_ = epoch_ * samples_per_epoch_;
    return found_ = true;
  }
  const std::uint64_t announced = ordered::load_announced(board_.progress());
  std::uint64_t epoch = announced;
  std::uint64_t start = board_.head().first_position;
  if (announced > 0) {
    const auto end = announced_end(announced - 1);
    if (!end) return false;  // it was just replaced: the next look finds a newer one
    start = *end;
  }
  while (epoch > 0 && start > position_) {
    --epoch;
    start = ordered::get(board_.epoch(epoch).start);
    if (ordered::get_acquire(board_.epoch(epoch).epoch_plus_one) != epoch + 1) return false;
  }
  const bool current = epoch == announced;
  // In the current epoch, whose end may come before this position is reached, time has to tell.
  if (current && position_ != start && ordered::load_published(board_.progress()) <= position_) {
    return false;
  }
  epoch_ = epoch;
  epoch_start_ = start;
  return found_ = true;
}

BATCHCAST_INLINE std::optional<std::uint64_t> RingReader::announced_end(
    std::uint64_t epoch) const noexcept {
  if (ordered::load_announced(board_.progress()) <= epoch) return std::nullopt;
  const EpochEntry& entry = board_.epoch(epoch);
  if (ordered::get_acquire(entry.epoch_plus_one) != epoch + 1) return std::nullopt;
  const std::uint64_t end = ordered::get_acquire(entry.end);
  if (ordered::get(entry.epoch_plus_one) != epoch + 1) return std::nullopt;
  return end;
}

BATCHCAST_INLINE void RingReader::look_for_end() noexcept {
  if (epoch_end_) return;
  if (samples_per_epoch_ != 0) {
    epoch_end_ = epoch_start_ + samples_per_epoch_;
  } else {
    epoch_end_ = announced_end(epoch_);
  }
}

BATCHCAST_INLINE void RingReader::begin_epoch() noexcept {
  between_ = false;
  receipt_ = {};
  whole_ = position_ == epoch_start_;
  epoch_end_.reset();
}

BATCHCAST_INLINE void RingReader::close_epoch() noexcept {
  const EpochEntry& entry = board_.epoch(epoch_);
  Receipt theirs;
  bool known = ordered::get_acquire(entry.epoch_plus_one) == epoch_ + 1;
  if (known) {
    theirs.count = ordered::get_acquire(entry.receipt_count);
    theirs.hash = ordered::get_acquire(entry.receipt_hash);
    known = ordered::get_acquire(entry.receipt_known) != 0 &&
            ordered::get(entry.epoch_plus_one) == epoch_ + 1;
  }
  if (!known || !whole_) {
    ordered::count(desk_.epochs_unknown);
  } else if (theirs == receipt_) {
    ordered::count(desk_.epochs_matched);
  } else {
    ordered::count(desk_.epochs_mismatched);
    complaint_ = "batchcast: epoch " + std::to_string(epoch_) + " of stream `" + options_.stream +
                 "` was not delivered as it was published: " + std::to_string(receipt_.count) +
                 " samples came, " + std::to_string(theirs.count) +
                 " were published, and the hashes of their ids " +
                 (theirs.hash == receipt_.hash ? "agree" : "differ") +
                 ". Do not trust this epoch; please report this.";
  }
  ++epoch_;
  epoch_start_ = position_;
  epoch_end_.reset();
  between_ = true;
}

BATCHCAST_INLINE void RingReader::throw_complaint() {
  if (!complaint_.empty()) throw ReceiptMismatch(std::exchange(complaint_, {}));
}

BATCHCAST_INLINE void RingReader::leave_epoch() noexcept {
  if (between_ || (!found_ && missed_end())) return;
  look_for_end();
  if (!epoch_end_) {
    std::lock_guard lock(mutex_);
    whole_ = false;
    between_ = true;
    skip_wanted_ = true;
    store_released();
    return;
  }
  if (ordered::load_published(board_.progress()) <= epoch_start_) {
    between_ = true;  // nobody has a sample of it: there is nothing to let go of yet
    return;
  }
  const std::uint64_t end = *epoch_end_;
  // Of who was evicted nobody keeps the samples: the stream may be anywhere by now.
  const bool readable = options_.pace == Pace::lockstep && end - position_ <= capacity_ &&
                        ordered::load_published(board_.progress()) >= end && !revoked();
  if (readable) {
    receipt_.add(sample_ids_.at(position_, end - position_));
  } else if (position_ < end) {
    whole_ = false;
  }
  {
    std::lock_guard lock(mutex_);
    position_ = end;
    ordered::set(desk_.cursor, position_);
    store_released();
  }
  close_epoch();
}

BATCHCAST_INLINE bool RingReader::end_skip() {
  const auto end = announced_end(epoch_);
  if (!end) return false;
  ordered::count(desk_.epochs_unknown);
  std::lock_guard lock(mutex_);
  position_ = *end;
  ordered::set(desk_.cursor, position_);
  skip_wanted_ = false;
  if (std::exchange(skip_announced_, false)) {
    released_ = position_;
    if (ordered::end_skip(desk_, board_.progress(), consumer_id_, position_))
      futex_wake(desk_.release_sequence);
  } else {
    store_released();
  }
  ++epoch_;
  epoch_start_ = position_;
  epoch_end_.reset();
  found_ = between_ = true;
  return true;
}

BATCHCAST_INLINE void RingReader::miss(std::uint64_t oldest) {
  // Into the middle of what there is: at its very edge the next sample would be missed as well.
  const std::uint64_t claimed = ordered::load_claimed(board_.progress());
  const std::uint64_t published = ordered::load_published(board_.progress());
  std::uint64_t target = std::min(saturating_sub(claimed, capacity_ / 2), published);
  target = std::max({target, oldest, position_});
  if (epoch_end_) target = std::min(target, *epoch_end_);
  const std::uint64_t lost = target - position_;
  whole_ = false;
  if (samples_per_epoch_ == 0 && !epoch_end_) {
    found_ = false;  // its end may have passed by unseen: `missed_end` looks
  }
  {
    std::lock_guard lock(mutex_);
    position_ = target;
    ordered::set(desk_.cursor, position_);
    store_released();
  }
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

BATCHCAST_INLINE bool RingReader::missed_end() noexcept {
  const bool announced = ordered::load_announced(board_.progress()) > epoch_;
  const auto end = announced_end(epoch_);
  // Where it is announced and no longer on the board, as many epochs have passed as that holds.
  const bool passed = announced && !(end && *end > position_);
  found_ = !passed;
  between_ = passed;
  if (passed) ordered::count(desk_.epochs_unknown);
  return passed;
}

BATCHCAST_INLINE void RingReader::throw_over(StreamState state) const {
  throw_stream_over(board_, state, options_.stream, position_);
}

}  // namespace batchcast::inline v0_1
