// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace batchcast::inline v0_1 {

class Segment;

/// A shared, read-only mapping whose chunks become private copies one by one, where this process
/// writes to them: each chunk at its first write, and for as long as the mapping lives. A chunk is
/// 2 MiB of the mapping's addresses. Of a ring that is mapped twice, each of the two mappings of
/// the same bytes becomes private by itself: what is written through a pointer is seen through that
/// pointer. Why this is sound: docs/decisions/0018-a-write-makes-its-chunk-private.md
class PrivateChunks {
 public:
  /// Whether mappings of that segment can do that, and this process may at this time: tried on one
  /// of a single page.
  [[nodiscard]] static bool possible(const Segment& segment) noexcept;

  /// Over [begin, begin + bytes), which must be mapped while this lives. `written` is set before
  /// the first byte of a chunk is copied.
  PrivateChunks(const std::byte* begin, std::uint64_t bytes,
                std::atomic<std::uint32_t>& written) noexcept;
  ~PrivateChunks();
  PrivateChunks(const PrivateChunks&) = delete;
  PrivateChunks& operator=(const PrivateChunks&) = delete;

  /// From any thread, and from a signal handler: makes the chunk around that address writable, or
  /// waits for the thread that does. False if the kernel refuses.
  [[nodiscard]] bool make_private(std::uintptr_t address) noexcept;

  /// Gives the memory of private chunks back to the system: they show zeros from then on. For when
  /// nobody has pointers into them any more.
  void give_back() noexcept;

 private:
  [[nodiscard]] bool replace(std::uint64_t chunk) const noexcept;

  const std::uintptr_t begin_;
  const std::uint64_t bytes_;
  std::atomic<std::uint32_t>& written_;
  std::atomic<std::uint32_t>*
      states_;  ///< one a chunk, in pages that are taken as they are used; null: none
};

}  // namespace batchcast::inline v0_1
