// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/consumer/member_lock.hpp>

#include <batchcast/core/error.hpp>
#include <batchcast/core/inline.hpp>

#include <pthread.h>

#include <mutex>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace member_lock {

// The mutex is held while a lock comes or goes, and during fork(), so that a child closes each.
[[gnu::visibility("hidden")]] inline constinit std::mutex mutex;
[[gnu::visibility("hidden")]] inline constinit MemberLock* first = nullptr;

}  // namespace member_lock

BATCHCAST_INLINE MemberLock::MemberLock(FileDescriptor lock) : lock_(std::move(lock)) {
  static const int failure =
      ::pthread_atfork([] { member_lock::mutex.lock(); }, [] { member_lock::mutex.unlock(); },
                       [] {
                         close_all_in_child();
                         member_lock::mutex.unlock();
                       });
  if (failure != 0) throw SystemError("batchcast: pthread_atfork", failure);
  const std::lock_guard guard(member_lock::mutex);
  next_ = std::exchange(member_lock::first, this);
}

BATCHCAST_INLINE MemberLock::~MemberLock() {
  const std::lock_guard guard(member_lock::mutex);
  MemberLock** at = &member_lock::first;
  while (*at != nullptr && *at != this) at = &(*at)->next_;
  if (*at == this) *at = next_;
  lock_.reset();
}

BATCHCAST_INLINE void MemberLock::take(MemberLock& other) noexcept {
  const std::lock_guard guard(member_lock::mutex);
  lock_ = std::move(other.lock_);
}

BATCHCAST_INLINE void MemberLock::take(FileDescriptor lock) noexcept {
  const std::lock_guard guard(member_lock::mutex);
  lock_ = std::move(lock);
}

BATCHCAST_INLINE void MemberLock::release() noexcept {
  const std::lock_guard guard(member_lock::mutex);
  lock_.reset();
}

/// It keeps none on the list: some were on the stacks of threads that the child does not have.
BATCHCAST_INLINE void MemberLock::close_all_in_child() noexcept {
  while (MemberLock* const one = member_lock::first) {
    one->lock_.reset();
    member_lock::first = std::exchange(one->next_, nullptr);
  }
}

}  // namespace batchcast::inline v0_1::detail
