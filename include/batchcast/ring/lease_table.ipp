// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/lease_table.hpp>

#include <batchcast/core/assert.hpp>
#include <batchcast/core/clock.hpp>
#include <batchcast/core/inline.hpp>
#include <batchcast/ring/futex.hpp>

#include <utility>

namespace batchcast::inline v0_1 {

BATCHCAST_INLINE LeaseTable::LeaseTable(BoardView board, Desk& desk)
    : board_(board),
      desk_(desk),
      consumer_id_(desk.consumer_id),
      capacity_(board.head().capacity),
      leases_(64) {}

BATCHCAST_INLINE void LeaseTable::restart(std::uint64_t position, bool skipping) noexcept {
  const std::lock_guard lock(mutex_);
  passed_ = released_ = position;
  skip_ = skipping ? Skip::announced : Skip::none;
}

BATCHCAST_INLINE std::uint64_t LeaseTable::add(std::uint64_t position, std::uint64_t passed) {
  const std::uint64_t now = now_ns();
  const std::lock_guard lock(mutex_);
  if (next_ - first_ == leases_.size()) grow();
  lease(next_) = {position, now, false};
  if (held_ == 0) ordered::set(desk_.oldest_lease_since_ns, now);
  ordered::set(desk_.leases_held, ++held_);
  passed_ = passed;
  return next_++;
}

BATCHCAST_INLINE void LeaseTable::release_before_oldest() noexcept {
  const std::lock_guard lock(mutex_);
  let_go();
}

BATCHCAST_INLINE void LeaseTable::grow() {
  std::vector<Lease> larger(leases_.size() * 2);
  for (std::uint64_t number = first_; number < next_; ++number) {
    larger[number % larger.size()] = lease(number);
  }
  leases_ = std::move(larger);
}

BATCHCAST_INLINE bool LeaseTable::give_back(std::uint64_t number) noexcept {
  const std::lock_guard lock(mutex_);
  BATCHCAST_ASSERT(number >= first_ && number < next_ && !lease(number).returned);
  lease(number).returned = true;
  ordered::set(desk_.leases_held, --held_);
  if (number == first_) {
    while (first_ < next_ && lease(first_).returned) ++first_;
    if (held_ != 0) ordered::set(desk_.oldest_lease_since_ns, lease(first_).since_ns);
    let_go();
  }
  return held_ == 0;
}

BATCHCAST_INLINE void LeaseTable::pass(std::uint64_t position) noexcept {
  const std::lock_guard lock(mutex_);
  passed_ = position;
  let_go();
}

BATCHCAST_INLINE void LeaseTable::skip(std::uint64_t epoch) noexcept {
  const std::lock_guard lock(mutex_);
  skip_ = Skip::wanted;
  skipped_epoch_ = epoch;
  let_go();
}

BATCHCAST_INLINE void LeaseTable::end_skip(std::uint64_t position) noexcept {
  const std::lock_guard lock(mutex_);
  passed_ = position;
  if (std::exchange(skip_, Skip::none) != Skip::announced) {
    let_go();
    return;
  }
  released_ = position;
  if (ordered::end_skip(desk_, board_.progress(), consumer_id_, position))
    futex_wake(desk_.release_sequence);
}

BATCHCAST_INLINE void LeaseTable::let_go() noexcept {
  const std::uint64_t free_below = held_ == 0 ? passed_ : lease(first_).start;
  bool wakes = false;
  if (free_below > released_) {
    released_ = free_below;
    wakes = ordered::release(desk_, board_.progress(), consumer_id_, free_below);
  }
  if (skip_ == Skip::wanted && held_ == 0) {
    skip_ = Skip::announced;
    wakes |= ordered::skip_epoch(desk_, board_.progress(), consumer_id_, skipped_epoch_);
  }
  if (wakes) futex_wake(desk_.release_sequence);
}

BATCHCAST_INLINE bool LeaseTable::none_held() const noexcept {
  const std::lock_guard lock(mutex_);
  return held_ == 0;
}

BATCHCAST_INLINE bool LeaseTable::hold_up_skip() const noexcept {
  const std::lock_guard lock(mutex_);
  return skip_ == Skip::wanted && held_ != 0;
}

BATCHCAST_INLINE LeaseTable::Held LeaseTable::held() const noexcept {
  const std::lock_guard lock(mutex_);
  return {held_, held_ == 0 ? passed_ : leases_[first_ % leases_.size()].start};
}

BATCHCAST_INLINE std::optional<LeaseTable::Held> LeaseTable::in_the_way_of(std::uint64_t end,
                                                                           ReaderHost& host) const {
  // It is held while the host is asked: otherwise neither would count a lease that came back.
  const std::lock_guard lock(mutex_);
  const std::uint64_t oldest = held_ == 0 ? passed_ : leases_[first_ % leases_.size()].start;
  if (end <= saturating_add(oldest, capacity_) || host.leases_come_back()) return std::nullopt;
  return Held{held_, oldest};
}

}  // namespace batchcast::inline v0_1
