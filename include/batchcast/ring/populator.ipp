// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/memory.hpp>

#include <batchcast/core/inline.hpp>

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <system_error>
#include <thread>

namespace batchcast::inline v0_1 {
namespace detail::populator {

// Populating holds the process's memory map: small pieces keep no malloc waiting.
inline constexpr std::uint64_t chunk_bytes = std::uint64_t{1} << 20;
inline constexpr int niceness = 10;

// Linux has them from 5.14 on; older headers lack them.
inline constexpr int populate_read = 22;
inline constexpr int populate_write = 23;

inline void populate(std::byte* at, std::uint64_t bytes, MapMode mode) noexcept {
  const int advice = mode == MapMode::read_only ? populate_read : populate_write;
  if (::madvise(at, bytes, advice) == 0 || errno != EINVAL) return;
  // Other processes write to this memory, so it may only be read.
  const volatile std::byte* bytes_at = at;
  for (std::uint64_t offset = 0; offset < bytes; offset += page_bytes()) {
    const std::byte seen = bytes_at[offset];
    static_cast<void>(seen);
  }
}

struct Span {
  std::byte* data;
  std::uint64_t bytes;
  std::uint64_t start;
};

}  // namespace detail::populator

struct Populator::State {
  std::vector<detail::populator::Span> spans;
  MapMode mode;
  std::atomic<bool> stop{false};
  std::thread thread;

  void run() noexcept {
    pthread_setname_np(pthread_self(), "bc-populate");
    ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)),
                  detail::populator::niceness);
    // Windows begin in the first half and reach into the second only when they wrap.
    for (const bool second_half : {false, true}) {
      if (!run_through(second_half)) return;
    }
  }

  bool run_through(bool second_half) noexcept {
    std::uint64_t longest = 1;
    for (const detail::populator::Span& span : spans) longest = std::max(longest, span.bytes);
    const std::uint64_t steps =
        (longest + detail::populator::chunk_bytes - 1) / detail::populator::chunk_bytes;
    for (std::uint64_t step = 0; step < steps; ++step) {
      // Every field advances by the same share of its length, so about as far in positions.
      for (const detail::populator::Span& span : spans) {
        const std::uint64_t start = second_half ? 0 : span.start;
        std::uint64_t from = boundary(span, step, steps);
        const std::uint64_t to = boundary(span, step + 1, steps);
        while (from < to) {
          if (stop.load(std::memory_order_relaxed)) return false;
          const std::uint64_t offset = (start + from) % span.bytes;
          const std::uint64_t bytes =
              std::min({detail::populator::chunk_bytes, to - from, span.bytes - offset});
          detail::populator::populate(span.data + (second_half ? span.bytes : 0) + offset, bytes,
                                      mode);
          from += bytes;
        }
      }
    }
    return true;
  }

  static std::uint64_t boundary(const detail::populator::Span& span, std::uint64_t step,
                                std::uint64_t steps) noexcept {
    if (step == steps) return span.bytes;
    const double share = static_cast<double>(step) / static_cast<double>(steps);
    const auto bytes = static_cast<std::uint64_t>(static_cast<double>(span.bytes) * share);
    return bytes / page_bytes() * page_bytes();
  }
};

BATCHCAST_INLINE Populator::Populator(const std::vector<DoubleMapping>& mappings, MapMode mode,
                                      const std::vector<std::uint64_t>& start_bytes)
    : state_(std::make_unique<State>()) {
  state_->mode = mode;
  for (std::size_t i = 0; i < mappings.size(); ++i) {
    const std::uint64_t bytes = mappings[i].bytes();
    const std::uint64_t start = i < start_bytes.size() ? start_bytes[i] % bytes : 0;
    state_->spans.push_back({mappings[i].data(), bytes, start / page_bytes() * page_bytes()});
  }
  // Signals are for the program's threads.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    state_->thread = std::thread([state = state_.get()] { state->run(); });
  } catch (const std::system_error&) {
    // Then the pages come one by one, as they are first touched.
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

BATCHCAST_INLINE Populator::~Populator() {
  if (!state_ || !state_->thread.joinable()) return;
  state_->stop.store(true, std::memory_order_relaxed);
  state_->thread.join();
}

BATCHCAST_INLINE void Populator::abandon() noexcept {
  if (state_->thread.joinable()) state_->thread.detach();
}

}  // namespace batchcast::inline v0_1
