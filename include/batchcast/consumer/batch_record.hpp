// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/batch.hpp>
#include <batchcast/consumer/window_fields.hpp>
#include <batchcast/ring/reader.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace batchcast::inline v0_1::detail {

class BatchPool;

/// One batch, shared by its handles. A BatchPool has it, and uses it again for later batches.
struct BatchRecord {
  std::atomic<std::uint32_t> references{0};
  std::shared_ptr<BatchPool> owner;  ///< with all that the batch needs; while it is out of the pool
  std::vector<std::byte*> data;      ///< of each field
  std::vector<std::uint64_t> strides;
  std::vector<AxisRows> rows;                  ///< of each axis, as `run`
  bool rows_are_sound = true;                  ///< what the ring's tables said of them can be
  std::shared_ptr<const WindowFields> window;  ///< of a batch that a window cuts, else null
  std::vector<std::byte> copy;  ///< the memory of copies on the host that are not page-locked
  std::size_t number = 0;       ///< of the pool's: names the memory that a Delivery has for it
  std::vector<void*> streams;   ///< CUDA streams that read it, the consumer's own first
  Run run;                      ///< as long as it is `in_place`, written with the pool's mutex only
  bool leased = false;          ///< until its last handle is gone, or it is kept
  /// With the pool's mutex: the batch counts as one, copies of the ring on their way as another.
  std::uint32_t uses = 0;
  std::shared_ptr<BatchPool> copier;  ///< while such copies are on their way
  std::uint64_t copied_lease = 0;     ///< the lease of what they read
  bool copied = false;                ///< it shows what was copied on a GPU
  bool own = false;                   ///< all that it shows is a copy, the consumer's own
  bool in_place = false;              ///< of what can become private it shows the ring's
  bool kept = false;                  ///< with the mutex: it is the trainer's own, since it kept
  std::uint64_t kept_bytes = 0;       ///< with the mutex: their number, of a kept batch
  std::atomic<bool> sound{false};     ///< once kept: what it shows was whole when it was copied

  [[nodiscard]] static Batch handle(BatchRecord& record, const BatchContents& contents) noexcept {
    return Batch(&record, contents);
  }
  [[nodiscard]] static BatchRecord& of(const Batch& batch) noexcept { return *batch.record_; }
  [[nodiscard]] static const BatchContents& contents(const Batch& batch) noexcept {
    return batch.contents_;
  }
};

}  // namespace batchcast::inline v0_1::detail
