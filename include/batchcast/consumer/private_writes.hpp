// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/log.hpp>
#include <batchcast/ring/fault_message.hpp>
#include <batchcast/ring/memory.hpp>
#include <batchcast/ring/private_chunks.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// The part of a ring in host memory that becomes private to this process: the trainer's writes
/// into batches, and batches that it keeps. Where writes cannot become private, all of them end the
/// process with a message. The consuming thread makes all calls, except where they say otherwise.
/// The mappings that it receives must outlive it.
class PrivateWrites {
 public:
  /// `wanted`: memory of the ring is to become private, if the system lets it.
  explicit PrivateWrites(bool wanted) noexcept : possible_(wanted), keeps_writes_(wanted) {}

  /// Maps a field's segment once more: there the consumer finds the ring's bytes, without the
  /// trainer's writes. Null where no memory can become private.
  [[nodiscard]] std::byte* map_apart(const Segment& segment);
  /// Guards what batches show, once every field is mapped.
  void guard(const std::vector<DoubleMapping>& shown, const std::string& stream,
             const LogCallback& log);

  /// Whether writes become private.
  [[nodiscard]] bool keeps_writes() const noexcept { return keeps_writes_; }
  /// Whether memory of the ring can become private. From any thread, once it is guarded.
  [[nodiscard]] bool possible() const noexcept { return possible_; }
  /// Why some of it is private, in bits of `private_word`. Ask once a run is known to be published
  /// and before it is shown in place: docs/decisions/0018 and 0029. From any thread.
  [[nodiscard]] std::uint32_t word() const noexcept { return word_.load(); }
  [[nodiscard]] const std::atomic<std::uint32_t>& flag() const noexcept { return word_; }
  /// Whether this process has written into a batch of the ring's. From any thread.
  [[nodiscard]] bool written() const noexcept { return (word() & private_word::written) != 0; }
  /// The mappings of `map_apart`.
  [[nodiscard]] const std::vector<DoubleMapping>& apart() const noexcept { return apart_; }
  /// The chunks of what was guarded, in its order; where private memory is possible.
  [[nodiscard]] const std::vector<std::unique_ptr<PrivateChunks>>& chunks() const noexcept {
    return chunks_;
  }
  /// No chunk is private any more that batches were kept in.
  void none_is_kept() noexcept { word_.fetch_and(~private_word::kept); }
  /// Guards nothing from here on, since nothing will be shown again, and gives up what `map_apart`
  /// made.
  void end() noexcept {
    fault_ranges_.clear();
    apart_.clear();
  }

  /// Once this process has written: true the first time that it is asked.
  [[nodiscard]] bool note_first_write() noexcept {
    return !std::exchange(first_write_noted_, true);
  }
  /// Call it for each batch that is about to be shown in place.
  void note_shown() noexcept;
  /// From any thread: no batch shows the ring in place any more, or ever will. Gives the memory of
  /// private chunks back to the system.
  void give_memory_back() noexcept;

 private:
  [[nodiscard]] bool guard_all(const std::vector<DoubleMapping>& shown, const std::string& stream);

  bool possible_;
  bool keeps_writes_;
  std::uint64_t tried_page_bytes_ = 0;  ///< pages of that size can be replaced
  std::uint64_t shown_ = 0;             ///< batches
  bool first_write_noted_ = false;
  std::atomic<std::uint32_t> word_{0};
  std::vector<DoubleMapping> apart_;  ///< the trainer gets no pointer into these
  std::vector<std::unique_ptr<PrivateChunks>> chunks_;
  std::vector<FaultRange> fault_ranges_;
};

}  // namespace batchcast::inline v0_1::detail
