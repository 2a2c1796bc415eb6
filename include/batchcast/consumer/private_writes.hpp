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
#include <vector>

namespace batchcast::inline v0_1::detail {

/// What a consumer does about the trainer's writes into batches that show the ring in host memory:
/// either all of them become private to this process, or all of them end it with a message. Calls
/// are the consuming thread's, except where they say otherwise. The mappings that it is given must
/// outlive it.
class PrivateWrites {
 public:
  /// `wanted`: writes are to become private, if the system lets them.
  explicit PrivateWrites(bool wanted) noexcept : keeps_(wanted) {}

  /// Maps a field's segment once more: there the consumer finds the ring's bytes, whatever the
  /// trainer wrote. Null where writes will end the process.
  [[nodiscard]] std::byte* map_apart(const Segment& segment);
  /// Guards what batches show, once every field is mapped.
  void guard(const std::vector<DoubleMapping>& shown, const std::string& stream,
             const LogCallback& log);

  /// Whether writes become private.
  [[nodiscard]] bool keeps() const noexcept { return keeps_; }
  /// Whether this process has written into a batch of the ring's. To be asked once a run is known
  /// to be published and before it is shown in place: docs/decisions/0018. From any thread.
  [[nodiscard]] bool written() const noexcept { return written_.load() != 0; }
  [[nodiscard]] const std::atomic<std::uint32_t>& written_flag() const noexcept { return written_; }
  /// The mappings of `map_apart`.
  [[nodiscard]] const std::vector<DoubleMapping>& apart() const noexcept { return apart_; }

  /// Of each batch that is about to be shown in place.
  void note_shown() noexcept;
  /// From any thread: no batch shows the ring in place any more, or ever will. Gives the memory of
  /// private chunks back to the system.
  void give_memory_back() noexcept;

 private:
  [[nodiscard]] bool guard_all(const std::vector<DoubleMapping>& shown, const std::string& stream);

  bool keeps_;
  std::uint64_t tried_page_bytes_ = 0;  ///< pages of that size can be replaced
  std::uint64_t shown_ = 0;             ///< batches
  std::atomic<std::uint32_t> written_{0};
  std::vector<DoubleMapping> apart_;  ///< the trainer gets no pointer into these
  std::vector<std::unique_ptr<PrivateChunks>> chunks_;
  std::vector<FaultRange> fault_ranges_;
};

}  // namespace batchcast::inline v0_1::detail
