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

// States of a chunk; any other is the id of the process that is copying it. In a child that was
// forked meanwhile no thread would end that: it sees a foreign id, and begins again.
inline constexpr std::uint32_t shared = 0;
inline constexpr std::uint32_t is_private = ~std::uint32_t{0};
inline constexpr int look_again_ms = 100;

inline std::uint64_t chunks_of(std::uint64_t bytes) noexcept {
  return (bytes + chunk_bytes - 1) / chunk_bytes;
}

// From here on there is only what a signal handler may call: system calls, without the wrappers of
// sanitizers and allocators.

#if defined(BATCHCAST_THREAD_SANITIZER)
// Samples that this process does not hold may be written meanwhile; their copies are not read.
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

/// Private memory of this process; 0 if there is none.
inline std::uintptr_t own_memory(std::uint64_t bytes, unsigned further_flags) noexcept {
  const long at = ::syscall(SYS_mmap, nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | further_flags, -1, 0L);
  return at == -1 ? 0 : static_cast<std::uintptr_t>(at);
}

/// Puts that memory at [at, at + bytes), in one step for all readers there, or unmaps it.
inline bool put_in_place(std::uintptr_t memory, std::uintptr_t at, std::uint64_t bytes) noexcept {
  if (::syscall(SYS_mremap, memory, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at) != -1) {
    return true;
  }
  ::syscall(SYS_munmap, memory, bytes);
  return false;
}

/// Replaces [at, at + bytes) by a private copy.
inline bool replace_by_copy(std::uintptr_t at, std::uint64_t bytes) noexcept {
  const std::uintptr_t copy = own_memory(bytes, MAP_POPULATE);
  if (copy == 0) return false;
  copy_chunk(reinterpret_cast<void*>(copy), reinterpret_cast<const void*>(at), bytes);
  return put_in_place(copy, at, bytes);
}

}  // namespace detail::private_chunks

BATCHCAST_INLINE bool PrivateChunks::make_private(std::uintptr_t address) noexcept {
  if (states_ == nullptr) return false;
  const std::uint64_t chunk = chunk_of(address);
  // Their handlers could write into the same chunk, and wait for it for ever.
  const SignalsBlocked until_done;
  if (claim(chunk) == Claim::is_private) return true;
  set_bit(private_word::written);
  const bool replaced = replace(chunk);
  settle(chunk, chunk + 1, replaced);
  return replaced;
}

/// Waits for another thread that copies the chunk.
BATCHCAST_INLINE PrivateChunks::Claim PrivateChunks::claim(std::uint64_t chunk) const noexcept {
  std::atomic<std::uint32_t>& state = states_[chunk];
  const auto self = static_cast<std::uint32_t>(::getpid());
  for (;;) {
    std::uint32_t seen = state.load(std::memory_order_acquire);
    if (seen == detail::private_chunks::is_private) return Claim::is_private;
    if (seen == self) {
      static_cast<void>(futex_wait(state, seen, detail::private_chunks::look_again_ms));
    } else if (state.compare_exchange_strong(seen, self)) {
      return Claim::mine;
    }
  }
}

/// This comes before the copy, with a fence between. A `next` that did not find the bit had seen
/// its run published before, so the copy has all of that run.
BATCHCAST_INLINE void PrivateChunks::set_bit(std::uint32_t bit) const noexcept {
  word_.fetch_or(bit);
#if !defined(BATCHCAST_THREAD_SANITIZER)  // which knows no fences
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

/// Ends the claims on chunks `first` … `last` - 1.
BATCHCAST_INLINE void PrivateChunks::settle(std::uint64_t first, std::uint64_t last,
                                            bool replaced) const noexcept {
  for (std::uint64_t chunk = first; chunk < last; ++chunk) {
    states_[chunk].store(
        replaced ? detail::private_chunks::is_private : detail::private_chunks::shared,
        std::memory_order_release);
    futex_wake(states_[chunk]);
  }
}

BATCHCAST_INLINE bool PrivateChunks::replace(std::uint64_t chunk) const noexcept {
  const AddressRange range = range_of(chunk, chunk + 1);
  return detail::private_chunks::replace_by_copy(range.begin, range.end - range.begin);
}

BATCHCAST_INLINE std::uint64_t PrivateChunks::chunk_of(std::uintptr_t address) const noexcept {
  return (address - begin_) / detail::private_chunks::chunk_bytes;
}

BATCHCAST_INLINE AddressRange PrivateChunks::range_of(std::uint64_t first,
                                                      std::uint64_t last) const noexcept {
  return {begin_ + first * detail::private_chunks::chunk_bytes,
          begin_ + std::min(last * detail::private_chunks::chunk_bytes, bytes_)};
}

// The code for signal handlers ends here.

namespace detail::private_chunks {

inline AddressRange whole_pages(AddressRange range) noexcept {
  const std::uintptr_t page = page_bytes();
  return {range.begin / page * page, (range.end + page - 1) / page * page};
}

inline AddressRange in_both(AddressRange a, AddressRange b) noexcept {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

/// Calls `work(range)` for each part of `range` outside the pages of `live`, in rising order.
template <class Work>
inline void for_each_gap(AddressRange range, std::span<const AddressRange> live, Work&& work) {
  for (std::uintptr_t at = range.begin; at < range.end;) {
    std::uintptr_t live_from = range.end;
    std::uintptr_t live_to = 0;
    for (const AddressRange& one : live) {
      const AddressRange pages = whole_pages(one);
      if (pages.end <= at || pages.begin >= live_from) continue;
      live_from = std::max(pages.begin, at);
      live_to = pages.end;
    }
    if (live_from > at) work(AddressRange{at, live_from});
    at = live_from == range.end ? range.end : live_to;
  }
}

/// A private copy of the pages of `range` that `live` has; the others are missing.
inline bool replace_by_pages(AddressRange range, std::span<const AddressRange> live) noexcept {
  const std::uint64_t bytes = range.end - range.begin;
  const std::uintptr_t copy = own_memory(bytes, MAP_NORESERVE);
  if (copy == 0) return false;
  // A huge page would take 2 MiB for each of these.
  ::madvise(reinterpret_cast<void*>(copy), bytes, MADV_NOHUGEPAGE);
  for (const AddressRange& one : live) {
    const AddressRange wanted = in_both(whole_pages(one), range);
    if (wanted.begin >= wanted.end) continue;
    auto* const to = reinterpret_cast<void*>(copy + (wanted.begin - range.begin));
#if defined(MADV_POPULATE_WRITE)
    ::madvise(to, wanted.end - wanted.begin, MADV_POPULATE_WRITE);  // else at each page's fault
#endif
    copy_chunk(to, reinterpret_cast<const void*>(wanted.begin), wanted.end - wanted.begin);
  }
  return put_in_place(copy, range.begin, bytes);
}

}  // namespace detail::private_chunks

BATCHCAST_INLINE std::uint64_t PrivateChunks::chunks() const noexcept {
  return states_ == nullptr ? 0 : detail::private_chunks::chunks_of(bytes_);
}

BATCHCAST_INLINE bool PrivateChunks::keep(AddressRange kept,
                                          std::span<const AddressRange> live) noexcept {
  if (states_ == nullptr) return false;
  if (kept.begin == kept.end) return true;
  const std::uint64_t end = chunk_of(kept.end - 1) + 1;
  const SignalsBlocked until_done;  // as in make_private
  for (std::uint64_t chunk = chunk_of(kept.begin); chunk < end; ++chunk) {
    const std::uint64_t first = chunk;
    while (chunk < end && claim(chunk) == Claim::mine) ++chunk;
    if (chunk == first) continue;
    set_bit(private_word::kept);
    const bool replaced = detail::private_chunks::replace_by_pages(range_of(first, chunk), live);
    settle(first, chunk, replaced);
    if (!replaced) return false;
  }
  return true;
}

BATCHCAST_INLINE bool PrivateChunks::is_private(AddressRange range) const noexcept {
  if (states_ == nullptr || range.begin == range.end) return false;
  const std::uint64_t end = chunk_of(range.end - 1) + 1;
  for (std::uint64_t chunk = chunk_of(range.begin); chunk < end; ++chunk) {
    if (states_[chunk].load() != detail::private_chunks::shared) return true;
  }
  return false;
}

BATCHCAST_INLINE void PrivateChunks::give_back(AddressRange range,
                                               std::span<const AddressRange> live) noexcept {
  namespace its = detail::private_chunks;
  if (states_ == nullptr || range.begin == range.end) return;
  its::for_each_gap(its::whole_pages(range), live, [this](AddressRange gap) {
    const std::uint64_t end = chunk_of(gap.end - 1) + 1;
    for (std::uint64_t chunk = chunk_of(gap.begin); chunk < end; ++chunk) {
      if (states_[chunk].load(std::memory_order_acquire) != its::is_private) continue;
      const AddressRange pages = its::in_both(gap, range_of(chunk, chunk + 1));
      ::madvise(reinterpret_cast<void*>(pages.begin), pages.end - pages.begin, MADV_DONTNEED);
    }
  });
}

BATCHCAST_INLINE std::uint64_t PrivateChunks::show_ring_again(
    const std::byte* apart, std::span<const AddressRange> live) noexcept {
  namespace its = detail::private_chunks;
  std::uint64_t still_private = 0;
  for (std::uint64_t chunk = 0; chunk < chunks(); ++chunk) {
    if (states_[chunk].load(std::memory_order_acquire) != its::is_private) continue;
    const AddressRange range = range_of(chunk, chunk + 1);
    const bool is_live = std::any_of(live.begin(), live.end(), [range](AddressRange one) {
      return one.begin < range.end && range.begin < one.end;
    });
    if (is_live || !map_ring_at(chunk, apart)) {
      ++still_private;
    } else {
      states_[chunk].store(its::shared);
    }
  }
  return still_private;
}

/// Takes two pieces where the ring's two mappings meet in the chunk: the kernel has one for each.
BATCHCAST_INLINE bool PrivateChunks::map_ring_at(std::uint64_t chunk,
                                                 const std::byte* apart) const noexcept {
  const AddressRange range = range_of(chunk, chunk + 1);
  const std::uintptr_t border = begin_ + bytes_ / 2;
  const auto from = reinterpret_cast<std::uintptr_t>(apart);
  const auto map = [&](std::uintptr_t begin, std::uintptr_t end) {
    if (begin >= end) return true;
    // An old size of 0 maps the same pages once more. It goes elsewhere first: a kernel that
    // refuses (huge pages) may already have unmapped the place that it got.
    const long again =
        ::syscall(SYS_mremap, from + (begin - begin_), 0L, end - begin, MREMAP_MAYMOVE);
    return again != -1 && detail::private_chunks::put_in_place(static_cast<std::uintptr_t>(again),
                                                               begin, end - begin);
  };
  return map(range.begin, std::min(range.end, border)) &&
         map(std::max(range.begin, border), range.end);
}

BATCHCAST_INLINE void PrivateChunks::reserve(std::span<const AddressRange> live) noexcept {
  const auto take = [](AddressRange gap) {
    // Where the kernel refuses, what was there stays.
    static_cast<void>(::mmap(reinterpret_cast<void*>(gap.begin), gap.end - gap.begin, PROT_NONE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0));
  };
  detail::private_chunks::for_each_gap({begin_, begin_ + bytes_}, live, take);
}

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
  for (std::uint64_t chunk = 0; chunk < chunks(); ++chunk) {
    if (states_[chunk].load(std::memory_order_acquire) != detail::private_chunks::is_private)
      continue;
    const AddressRange range = range_of(chunk, chunk + 1);
    ::madvise(reinterpret_cast<void*>(range.begin), range.end - range.begin, MADV_DONTNEED);
  }
}

BATCHCAST_INLINE PrivateChunks::PrivateChunks(const std::byte* begin, std::uint64_t bytes,
                                              std::atomic<std::uint32_t>& word) noexcept
    : begin_(reinterpret_cast<std::uintptr_t>(begin)),
      bytes_(bytes),
      word_(word),
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
