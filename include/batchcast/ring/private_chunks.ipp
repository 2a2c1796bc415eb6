// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/private_chunks.hpp>

#include <batchcast/core/inline.hpp>
#include <batchcast/core/sanitizer.hpp>
#include <batchcast/core/signals.hpp>
#include <batchcast/ring/futex.hpp>
#include <batchcast/ring/memory.hpp>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace batchcast::inline v0_1 {
namespace detail::private_chunks {

inline constexpr std::uint64_t chunk_bytes = std::uint64_t{2} << 20;

// States of a chunk; any other is the id of the process that is copying it. A child that was forked
// meanwhile has nobody who would end that: it sees an id that is not its own, and begins anew.
inline constexpr std::uint32_t shared = 0;
inline constexpr std::uint32_t is_private = ~std::uint32_t{0};
inline constexpr int look_again_ms = 100;

inline std::uint64_t chunks_of(std::uint64_t bytes) noexcept {
  return (bytes + chunk_bytes - 1) / chunk_bytes;
}

// From here on only what a signal handler may call: system calls, without what sanitizers and
// allocators put around them.

#if defined(BATCHCAST_THREAD_SANITIZER)
// Samples that nobody here holds may be written meanwhile; nobody looks at their copies.
inline __attribute__((no_sanitize("thread"))) void copy_chunk(void* to, const void* from,
                                                              std::uint64_t bytes) noexcept {
  for (std::uint64_t i = 0; i < bytes / 8; ++i) {
    static_cast<volatile std::uint64_t*>(to)[i] =
        static_cast<const volatile std::uint64_t*>(from)[i];
  }
}
#else
inline void copy_chunk(void* to, const void* from, std::uint64_t bytes) noexcept {
  std::memcpy(to, from, bytes);
}
#endif

/// Puts a private copy of [at, at + bytes) in its place, in one step for whoever reads there.
inline bool replace_by_copy(std::uintptr_t at, std::uint64_t bytes) noexcept {
  void* const there = reinterpret_cast<void*>(at);
  const long copy = ::syscall(SYS_mmap, nullptr, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0L);
  if (copy == -1) return false;
  auto* const copied = reinterpret_cast<void*>(copy);
  copy_chunk(copied, there, bytes);
  if (::syscall(SYS_mremap, copied, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, there) != -1) {
    return true;
  }
  ::syscall(SYS_munmap, copied, bytes);
  return false;
}

}  // namespace detail::private_chunks

BATCHCAST_INLINE bool PrivateChunks::make_private(std::uintptr_t address) noexcept {
  if (states_ == nullptr) return false;
  const std::uint64_t chunk = (address - begin_) / detail::private_chunks::chunk_bytes;
  std::atomic<std::uint32_t>& state = states_[chunk];
  const auto self = static_cast<std::uint32_t>(::getpid());
  // Their handlers could write into the same chunk, and wait for it for ever.
  const SignalsBlocked until_done;
  for (;;) {
    std::uint32_t seen = state.load(std::memory_order_acquire);
    if (seen == detail::private_chunks::is_private) return true;
    if (seen == self) {
      static_cast<void>(futex_wait(state, seen, detail::private_chunks::look_again_ms));
    } else if (state.compare_exchange_strong(seen, self, std::memory_order_acq_rel)) {
      break;
    }
  }
  // Before the copy, and with a fence between: a `next` that read 0 had seen its run published
  // before, so the copy has all of that run.
  written_.store(1);
#if !defined(BATCHCAST_THREAD_SANITIZER)  // which knows no fences
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
  const bool replaced = replace(chunk);
  state.store(replaced ? detail::private_chunks::is_private : detail::private_chunks::shared,
              std::memory_order_release);
  futex_wake(state);
  return replaced;
}

BATCHCAST_INLINE bool PrivateChunks::replace(std::uint64_t chunk) const noexcept {
  const std::uint64_t offset = chunk * detail::private_chunks::chunk_bytes;
  return detail::private_chunks::replace_by_copy(
      begin_ + offset, std::min(detail::private_chunks::chunk_bytes, bytes_ - offset));
}

// So much for signal handlers.

BATCHCAST_INLINE bool PrivateChunks::possible(const Segment& segment) noexcept {
  const std::uint64_t bytes = segment.granularity();
  if (detail::private_chunks::chunk_bytes % bytes != 0)
    return false;  // chunks would end within pages
  void* const page = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, segment.fd(), 0);
  if (page == MAP_FAILED) return false;
  const bool replaced =
      detail::private_chunks::replace_by_copy(reinterpret_cast<std::uintptr_t>(page), bytes);
  if (replaced) *static_cast<volatile char*>(page) = 1;
  ::munmap(page, bytes);
  return replaced;
}

BATCHCAST_INLINE void PrivateChunks::give_back() noexcept {
  for (std::uint64_t chunk = 0;
       states_ != nullptr && chunk < detail::private_chunks::chunks_of(bytes_); ++chunk) {
    if (states_[chunk].load(std::memory_order_acquire) != detail::private_chunks::is_private)
      continue;
    const std::uint64_t offset = chunk * detail::private_chunks::chunk_bytes;
    ::madvise(reinterpret_cast<void*>(begin_ + offset),
              std::min(detail::private_chunks::chunk_bytes, bytes_ - offset), MADV_DONTNEED);
  }
}

BATCHCAST_INLINE PrivateChunks::PrivateChunks(const std::byte* begin, std::uint64_t bytes,
                                              std::atomic<std::uint32_t>& written) noexcept
    : begin_(reinterpret_cast<std::uintptr_t>(begin)),
      bytes_(bytes),
      written_(written),
      states_(nullptr) {
  void* const states = ::mmap(nullptr, detail::private_chunks::chunks_of(bytes) * sizeof(*states_),
                              PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (states == MAP_FAILED) return;
  states_ = static_cast<std::atomic<std::uint32_t>*>(states);  // zeros are `shared`
}

BATCHCAST_INLINE PrivateChunks::~PrivateChunks() {
  if (states_ != nullptr)
    ::munmap(states_, detail::private_chunks::chunks_of(bytes_) * sizeof(*states_));
}

}  // namespace batchcast::inline v0_1
