// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/consumer/mapped_ring.hpp>
#include <batchcast/consumer_options.hpp>
#include <batchcast/ring/reader.hpp>

#include <cstdint>
#include <string>

namespace batchcast::inline v0_1::detail {

/// Says what a call waits for, at info level: after 2 s, then once a minute. Calls are the
/// consuming thread's. What it is given must outlive it.
class WaitReport {
 public:
  /// For what a call sleeps.
  enum class Cause {
    samples,      ///< that are to be published, or for other ranks
    answer,       ///< of the producer, at the door
    gpu_streams,  ///< of this process, which still work on its batches
  };

  WaitReport(const ConsumerOptions& options, const std::string& consumer, const MappedRing& ring,
             const RingReader& reader) noexcept
      : options_(options), consumer_(consumer), ring_(ring), reader_(reader) {}

  /// Call it after each sleep of a call that waits. A wait continues over calls that time out.
  void look(Cause cause) noexcept;
  void end_wait() noexcept { since_ns_ = 0; }

 private:
  void note_holder(std::uint64_t now) noexcept;
  [[nodiscard]] std::string text_of(Cause cause) const;
  [[nodiscard]] std::string what_samples_wait_for() const;
  [[nodiscard]] std::string holder_text(std::uint64_t consumer_id) const;

  const ConsumerOptions& options_;
  const std::string& consumer_;
  const MappedRing& ring_;
  const RingReader& reader_;
  std::uint64_t since_ns_ = 0;  ///< 0: it does not wait
  std::uint64_t next_ns_ = 0;
  std::uint64_t looked_ns_ = 0;
  std::uint64_t holder_ = 0;  ///< consumer_id of the one that the producer waited for last
  std::uint64_t holder_seen_ns_ = 0;
};

}  // namespace batchcast::inline v0_1::detail
