// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/sanitizer.hpp>

#include <atomic>
#include <mutex>
#include <thread>

// What the ring's code shares with other processes and threads. The simulation in tests/simulation
// compiles the same code with another file in this one's place, and with another clock.hpp and
// futex.ipp. tests/relacy does so for the fences.
namespace batchcast::inline v0_1 {

/// A word of memory that several processes see.
template <class T>
using SharedWord = std::atomic<T>;

/// Guards what the threads of one process share. None sleeps on a futex while it holds one.
using Mutex = std::mutex;

using ThreadId = std::thread::id;
[[nodiscard]] inline ThreadId this_thread_id() noexcept { return std::this_thread::get_id(); }

namespace ordered {

#if defined(BATCHCAST_THREAD_SANITIZER)
// g++ has no fences under TSan; a seq_cst RMW on one common word orders no less.
inline std::atomic<std::uint32_t> fence_word{0};
inline void acquire_fence() noexcept { fence_word.fetch_add(1, std::memory_order_seq_cst); }
inline void release_fence() noexcept { fence_word.fetch_add(1, std::memory_order_seq_cst); }
#else
inline void acquire_fence() noexcept { std::atomic_thread_fence(std::memory_order_acquire); }
inline void release_fence() noexcept { std::atomic_thread_fence(std::memory_order_release); }
#endif

}  // namespace ordered
}  // namespace batchcast::inline v0_1
