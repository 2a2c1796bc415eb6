// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/batch.hpp>
#include <batchcast/consumer/batch_filler.hpp>
#include <batchcast/consumer/batch_pool.hpp>
#include <batchcast/consumer/mapped_ring.hpp>

#include <cstdint>
#include <memory>
#include <optional>

namespace batchcast::inline v0_1::detail {

/// Copies what the ring holds at the moment, whether its consumer has a place in the stream or not.
/// Calls are the consuming thread's. What it is given must outlive it.
class Observer {
 public:
  Observer(const MappedRing& ring, BatchFiller& filler) noexcept : ring_(ring), filler_(filler) {}

  /// The newest samples, at most `samples_max`, of the epoch that most of them belong to, in a
  /// batch of that pool. Nothing while the ring holds none.
  [[nodiscard]] std::optional<Batch> newest(std::uint64_t samples_max,
                                            const std::shared_ptr<BatchPool>& pool);

 private:
  [[nodiscard]] std::optional<Run> newest_run(std::uint64_t samples_max) const noexcept;
  [[nodiscard]] bool still_held(const Run& run) const noexcept;

  const MappedRing& ring_;
  BatchFiller& filler_;
};

}  // namespace batchcast::inline v0_1::detail
