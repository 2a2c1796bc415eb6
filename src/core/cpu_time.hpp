// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <pthread.h>
#include <time.h>

#include <cstdint>
#include <thread>

namespace batchcast::inline v0_1 {

/// Processor time of a clock of the kernel; 0 where it has none such.
[[nodiscard]] inline std::uint64_t cpu_ns_of(clockid_t clock) noexcept {
  timespec time{};
  if (::clock_gettime(clock, &time) != 0) return 0;
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

/// Of the calling thread, and of all threads of this process.
[[nodiscard]] inline std::uint64_t thread_cpu_ns() noexcept {
  return cpu_ns_of(CLOCK_THREAD_CPUTIME_ID);
}
[[nodiscard]] inline std::uint64_t process_cpu_ns() noexcept {
  return cpu_ns_of(CLOCK_PROCESS_CPUTIME_ID);
}

/// Of another thread of this process, which must not be joined yet. 0 once it has ended.
[[nodiscard]] inline std::uint64_t cpu_ns_of(std::thread& thread) noexcept {
  clockid_t clock{};
  return ::pthread_getcpuclockid(thread.native_handle(), &clock) == 0 ? cpu_ns_of(clock) : 0;
}

}  // namespace batchcast::inline v0_1
