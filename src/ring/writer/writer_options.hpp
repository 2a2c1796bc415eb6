// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/log.hpp>
#include <batchcast/core/options.hpp>
#include <batchcast/ring/layout.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace batchcast::inline v0_1 {

/// How to write a ring: `RingWriter::Options`.
struct WriterOptions {
  std::uint64_t samples_per_epoch = 0;  ///< 0: epochs end when `end_epoch` says so
  std::uint64_t epochs = 0;             ///< 0: endless
  std::uint32_t wait_for = 0;           ///< trainers that the first publication waits for
  bool free_running = false;            ///< make samples although no consumer asks for them
  /// Epochs to make ahead of the foremost consumer; while none is attached, ahead of where the next
  /// consumer would begin. 0: as many as the ring holds. Where an epoch's length is not known, one
  /// that has begun counts as whole.
  std::uint64_t ahead = 0;
  /// Samples can be made again: the stream goes back to a consumer's cursor that the ring no longer
  /// holds, if no other consumer is attached. Epochs must have one length. A ring that is filled
  /// from another one leaves this to that one.
  bool goes_back = false;
  std::uint64_t stall_timeout_ms = 60'000;
  OnStall on_stall = OnStall::report;
  std::uint64_t spin_ns = 50'000;       ///< look at most this long for space before sleeping
  std::uint64_t start = 0;              ///< first position of the stream (tests near 2^32 and 2^63)
  std::uint64_t first_consumer_id = 1;  ///< differs between the rings of one stream
  /// Where every consumer stands beyond what is claimed, leave the samples between out. Off in a
  /// ring that is filled from another one: that one decides.
  bool jumps = true;
  std::vector<RowEntry*> row_tables = {};  ///< of the board's axes, writable
  LogCallback log;
  /// Called without the lock after the writer decided to evict a consumer.
  std::function<void(std::uint64_t consumer_id, const std::string& reason)> on_evicted;
};

}  // namespace batchcast::inline v0_1
