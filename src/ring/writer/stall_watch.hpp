// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "ring/writer/writer_state.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace batchcast::inline v0_1 {

/// Finds the consumer that holds the stream up, and how long it has made no progress. It never
/// names a mirror: a mirror waits for trainers of its ring, whose writer names them. Belongs to the
/// RingWriter, under its admission lock.
class StallWatch {
 public:
  /// `state` must outlive this.
  explicit StallWatch(const WriterState& state) noexcept : state_(state) {}

  struct Stall {
    std::size_t at;    ///< the consumer's place in the table
    std::string text;  ///< what it does, without a full stop
  };
  /// A stall that is due to be reported, once in each stall time-out. `refresh` comes before it.
  [[nodiscard]] std::optional<Stall> look();
  /// Whether lists show this consumer as stalled. That comes earlier than the report.
  [[nodiscard]] bool shows(const ConsumerRecord& consumer) const noexcept;

 private:
  [[nodiscard]] std::size_t slowest_trainer() const;
  [[nodiscard]] bool is_alone(const ConsumerRecord& consumer) const;
  [[nodiscard]] std::string text_of(const ConsumerRecord& consumer, std::uint64_t now) const;

  const WriterState& state_;
  std::uint64_t consumer_id_ = 0;  ///< 0: no consumer holds the stream up
  std::uint64_t progress_ = 0;     ///< one of its positions, which has not changed since
  std::uint64_t since_ns_ = 0;
  std::uint64_t reported_ns_ = 0;
};

}  // namespace batchcast::inline v0_1
