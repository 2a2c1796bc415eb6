// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/log.hpp>
#include <batchcast/core/options.hpp>

#include <cstdint>
#include <functional>
#include <string>

namespace batchcast::inline v0_1 {

/// How a ring is to be written: `RingWriter::Options`.
struct WriterOptions {
  std::uint64_t samples_per_epoch = 0;  ///< 0: epochs end when `end_epoch` says so
  std::uint64_t epochs = 0;             ///< 0: endless
  std::uint32_t wait_for = 0;           ///< trainers that the first publication waits for
  bool free_running = false;            ///< produce although no consumer asks for samples
  /// Epochs that are made beyond the foremost consumer, or while none is attached, beyond where
  /// the next consumer would begin; 0: as many as the ring holds. Where an epoch's length is not
  /// known, one that is begun counts as whole.
  std::uint64_t ahead = 0;
  /// Samples can be made again: the stream goes back to a consumer's cursor that the ring no
  /// longer holds, if no other consumer is attached. Only where epochs have one length; a ring
  /// that is filled from another one leaves it to that.
  bool goes_back = false;
  std::uint64_t stall_timeout_ms = 60'000;
  OnStall on_stall = OnStall::report;
  std::uint64_t spin_ns = 50'000;       ///< look at most this long for space before sleeping
  std::uint64_t start = 0;              ///< first position of the stream (tests near 2^32 and 2^63)
  std::uint64_t first_consumer_id = 1;  ///< differs between the rings of one stream
  /// Where every consumer stands beyond what is claimed, the samples between are left out. Off in
  /// a ring that is filled from another one: that one decides.
  bool jumps = true;
  LogCallback log;
  /// Called without the lock after the writer evicted a consumer on its own account.
  std::function<void(std::uint64_t consumer_id, const std::string& reason)> on_evicted;
};

}  // namespace batchcast::inline v0_1
