// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/reader.hpp>

#include <batchcast/core/assert.hpp>
#include <batchcast/core/clock.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/inline.hpp>
#include <batchcast/ring/futex.hpp>

#include <algorithm>

namespace batchcast::inline v0_1 {

BATCHCAST_INLINE RingReader::Lease& RingReader::lease(std::uint64_t number) noexcept {
  return leases_[number % leases_.size()];
}

BATCHCAST_INLINE void RingReader::check_room(std::uint64_t end) const {
  const std::uint64_t oldest =
      held_ == 0 ? position_ : leases_[first_lease_ % leases_.size()].start;
  if (end <= saturating_add(oldest, capacity_) || host_.leases_come_back()) return;
  throw RingTooSmall("batchcast: this consumer holds " + std::to_string(held_) +
                     " batches, the oldest from position " + std::to_string(oldest) +
                     " on, and asks for samples up to " + std::to_string(end - 1) +
                     "; the ring of stream `" + options_.stream + "` spans " +
                     std::to_string(capacity_) +
                     " samples. Drop batches sooner, give the stream more memory (" +
                     options_.memory_option + "), or copy batches with access = private.");
}

BATCHCAST_INLINE void RingReader::deliver(std::uint64_t size, Run& run) {
  run.position = position_;
  run.size = size;
  run.epoch = epoch_;
  run.lease = 0;
  if (options_.pace == Pace::free) return;
  receipt_.add(sample_ids_.at(position_, size));
  const std::uint64_t now = now_ns();
  std::lock_guard lock(mutex_);
  if (next_lease_ - first_lease_ == leases_.size()) {
    std::vector<Lease> larger(leases_.size() * 2);
    for (std::uint64_t number = first_lease_; number < next_lease_; ++number) {
      larger[number % larger.size()] = lease(number);
    }
    leases_ = std::move(larger);
  }
  run.lease = next_lease_;
  lease(next_lease_) = {position_, now, false};
  if (held_ == 0) ordered::set(desk_.oldest_lease_since_ns, now);
  ++next_lease_;
  ordered::set(desk_.leases_held, ++held_);
  position_ += size;
  ordered::set(desk_.cursor, position_);
  ordered::count(desk_.samples, size);
  ordered::count(desk_.batches);
}

BATCHCAST_INLINE bool RingReader::give_back(std::uint64_t number) noexcept {
  std::lock_guard lock(mutex_);
  BATCHCAST_ASSERT(number >= first_lease_ && number < next_lease_ && !lease(number).returned);
  lease(number).returned = true;
  ordered::set(desk_.leases_held, --held_);
  if (number == first_lease_) {
    while (first_lease_ < next_lease_ && lease(first_lease_).returned) ++first_lease_;
    if (held_ != 0) ordered::set(desk_.oldest_lease_since_ns, lease(first_lease_).since_ns);
    store_released();
  }
  return held_ == 0;
}

BATCHCAST_INLINE void RingReader::store_released() noexcept {
  const std::uint64_t free_below = held_ == 0 ? position_ : lease(first_lease_).start;
  bool wakes = false;
  if (free_below > released_) {
    released_ = free_below;
    wakes = ordered::release(desk_, board_.progress(), consumer_id_, free_below);
  }
  if (skip_wanted_ && !skip_announced_ && held_ == 0) {
    skip_announced_ = true;
    wakes |= ordered::skip_epoch(desk_, board_.progress(), consumer_id_, epoch_);
  }
  if (wakes) futex_wake(desk_.release_sequence);
}

BATCHCAST_INLINE bool RingReader::copied(const Run& run,
                                         std::span<const std::uint64_t> sample_ids) {
  if (ordered::load_claimed_after_reading(board_.progress()) >
      saturating_add(run.position, capacity_)) {
    return false;
  }
  receipt_.add(sample_ids);
  ordered::count(desk_.samples, run.size);
  ordered::count(desk_.batches);
  std::lock_guard lock(mutex_);
  position_ = run.position + run.size;
  ordered::set(desk_.cursor, position_);
  store_released();
  return true;
}

BATCHCAST_INLINE bool RingReader::idle() const noexcept {
  std::lock_guard lock(mutex_);
  return held_ == 0;
}

BATCHCAST_INLINE bool RingReader::revoked() const noexcept {
  return ordered::load_consumer_id_after_reading(entry_) != consumer_id_;
}

BATCHCAST_INLINE void RingReader::check() const {
  if (!revoked()) return;
  throw Revoked("batchcast: stream `" + options_.stream +
                "` went on without this consumer: " + host_.why_revoked() +
                ". Samples of batches that it still held may have been overwritten: do not use "
                "them. Attach again to go on.");
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
