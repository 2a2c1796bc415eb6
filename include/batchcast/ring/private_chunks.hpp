// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace batchcast::inline v0_1 {

class Segment;

/// Addresses of this process.
struct AddressRange {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};

/// Why a mapping has private chunks: bits of a word that its consumer reads before it shows the
/// ring. 0: it has none.
namespace private_word {
inline constexpr std::uint32_t written = 1;  ///< the trainer wrote: nothing is shown in place again
inline constexpr std::uint32_t kept = 2;     ///< batches were kept: a chunk says whether it may be
}  // namespace private_word

/// A shared, read-only mapping whose chunks become private copies one by one. A chunk becomes
/// private when this process first writes to it, or where the process keeps what it shows. A chunk
/// is 2 MiB of the mapping's addresses. A ring is mapped twice, and each mapping of the same bytes
/// becomes private by itself: a write through a pointer shows through that pointer. Two pages say
/// why this is sound: docs/decisions/0018-a-write-makes-its-chunk-private.md and
/// docs/decisions/0029-what-is-kept-becomes-private.md
class PrivateChunks {
 public:
  /// Whether mappings of that segment can do that, and this process may at this time. It tries a
  /// mapping of a single page.
  [[nodiscard]] static bool possible(const Segment& segment) noexcept;

  /// For [begin, begin + bytes), which must stay mapped while this lives. `word` gets its bit
  /// before the first byte of a chunk is copied.
  PrivateChunks(const std::byte* begin, std::uint64_t bytes,
                std::atomic<std::uint32_t>& word) noexcept;
  ~PrivateChunks();
  PrivateChunks(const PrivateChunks&) = delete;
  PrivateChunks& operator=(const PrivateChunks&) = delete;

  /// Makes the chunk around that address writable, or waits for the thread that does. From any
  /// thread, and from a signal handler. False if the kernel refuses.
  [[nodiscard]] bool make_private(std::uintptr_t address) noexcept;

  /// Gives the memory of private chunks back to the system: they show zeros from then on. Call it
  /// when there are no pointers into them any more.
  void give_back() noexcept;

  // ---- what is kept. `live`: all that anybody may read there. Calls are the thread's that shows
  // the ring, but where they say otherwise.

  /// Makes the chunks of `kept` private. They get the pages of `live`, which contains `kept`, and
  /// no others. False if the kernel refuses; chunks that did become private stay so.
  [[nodiscard]] bool keep(AddressRange kept, std::span<const AddressRange> live) noexcept;
  /// Whether a chunk of that range is private, or becomes so.
  [[nodiscard]] bool is_private(AddressRange range) const noexcept;
  /// From any thread: gives the private pages of `range` outside `live` back to the system.
  void give_back(AddressRange range, std::span<const AddressRange> live) noexcept;
  /// Maps the ring again where a chunk is private and holds nothing of `live`. The bytes come from
  /// `apart`, another mapping of the same bytes, also twice. Returns how many chunks are still
  /// private.
  std::uint64_t show_ring_again(const std::byte* apart,
                                std::span<const AddressRange> live) noexcept;
  /// Gives back all memory except the pages of `live`: the addresses stay reserved, without access.
  void reserve(std::span<const AddressRange> live) noexcept;

 private:
  enum class Claim { mine, is_private };
  [[nodiscard]] Claim claim(std::uint64_t chunk) const noexcept;
  void set_bit(std::uint32_t bit) const noexcept;
  void settle(std::uint64_t first, std::uint64_t last, bool replaced) const noexcept;
  [[nodiscard]] bool replace(std::uint64_t chunk) const noexcept;
  [[nodiscard]] bool map_ring_at(std::uint64_t chunk, const std::byte* apart) const noexcept;
  [[nodiscard]] std::uint64_t chunks() const noexcept;
  [[nodiscard]] std::uint64_t chunk_of(std::uintptr_t address) const noexcept;
  /// The addresses of chunks `first` … `last` - 1.
  [[nodiscard]] AddressRange range_of(std::uint64_t first, std::uint64_t last) const noexcept;

  const std::uintptr_t begin_;
  const std::uint64_t bytes_;
  std::atomic<std::uint32_t>& word_;
  std::atomic<std::uint32_t>*
      states_;  ///< one a chunk, in pages that are taken as they are used; null: none
};

}  // namespace batchcast::inline v0_1
