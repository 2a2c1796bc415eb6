// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/group.hpp>
#include <batchcast/core/options.hpp>
#include <batchcast/core/states.hpp>
#include <batchcast/ring/layout.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace batchcast::inline v0_1 {

class StallWatch;
struct WriterState;

/// One consumer as the producer sees it now.
struct ConsumerStatus {
  std::string name;
  std::uint32_t index = 0;
  std::uint64_t consumer_id = 0;
  std::uint32_t pid = 0;
  std::uint32_t batch_size = 0;
  Pace pace = Pace::lockstep;
  bool mirrors = false;  ///< no consumer, but the thread that fills another ring
  bool fresh = true;     ///< it had no batch before its last pause, and may begin before `position`
  ConsumerState state = ConsumerState::running;  ///< never stopped: the writer looks at no process
  std::uint64_t position = 0;
  std::uint64_t lag = 0;  ///< samples published that it has not released yet
  std::uint64_t samples = 0;
  std::uint64_t wait_ns = 0;
  std::uint64_t waited_for_ns = 0;  ///< the full ring waited for it
  std::uint64_t leases_held = 0;
  Group group = {};
};

/// How many rows of an axis the ring holds for consumers.
struct AxisStatus {
  std::string name;
  std::uint64_t rows = 0;  ///< that there is room for
  std::uint64_t used = 0;
};

struct WriterStatus {
  StreamState state = StreamState::starting;
  std::uint64_t epoch = 0;
  std::uint64_t published = 0;
  std::uint64_t claimed = 0;
  std::uint64_t samples_published = 0;
  std::uint64_t run_start = 0;  ///< where the stream went to with its last jump, or began
  std::uint64_t read_to = 0;    ///< how far a trainer of this ring was given samples since then
  std::uint64_t unread_before_jump = 0;  ///< samples right before that jump that no trainer got
  std::uint64_t late_wakeups = 0;
  std::uint64_t space_waits = 0;
  std::uint64_t space_wait_ns = 0;
  WaitsFor waits_for = WaitsFor::nothing;
  std::uint32_t consumers_to_come = 0;  ///< before its first publication
  std::uint64_t delivered = 0;          ///< samples that trainers had, those too that have left
  /// Published samples that the slowest consumer has not released; without one, all that are held.
  std::uint64_t used = 0;
  std::vector<AxisStatus> axes;
  std::vector<ConsumerStatus> consumers;
};

/// The answer of `RingWriter::status`. The caller holds the admission lock.
[[nodiscard]] WriterStatus status_of(const WriterState& state, const StallWatch& stalls);

}  // namespace batchcast::inline v0_1
