// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/placement.hpp>
#include <batchcast/join/message.hpp>
#include <batchcast/ring/memory.hpp>
#include "ring/writer/writer.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// Called after a ring's writer decided to evict a consumer.
using OnEvicted = std::function<void(std::uint64_t consumer_id, const std::string& reason)>;

/// A ring that a producer serves, in host memory (HostRing) or on a GPU. Each has samples, a board,
/// a writer and consumers.
class ServedRing {
 public:
  ServedRing() = default;
  ServedRing(const ServedRing&) = delete;
  ServedRing& operator=(const ServedRing&) = delete;
  /// Consumers keep their mappings.
  virtual ~ServedRing() = default;

  [[nodiscard]] virtual Placement placement() const noexcept = 0;
  /// The ring's name in a hello: `host`, or the GPU's UUID.
  [[nodiscard]] virtual const std::string& id() const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t capacity() const noexcept = 0;
  /// Bytes of its samples, in host or GPU memory.
  [[nodiscard]] virtual std::uint64_t memory() const noexcept = 0;
  /// For messages: the option of `serve`, with bytes, that makes the ring hold that many samples.
  [[nodiscard]] virtual std::string memory_option_for(std::uint64_t samples) const = 0;
  /// The rows that it holds of an axis; nothing where it has none of that name.
  [[nodiscard]] virtual std::optional<std::uint64_t> rows_of(
      [[maybe_unused]] const std::string& axis) const {
    return std::nullopt;
  }
  /// The rows of a sample on an axis.
  struct RowsThere {
    std::string axis = {};  ///< empty: the ring has no axes
    std::uint64_t rows = 0;
  };
  /// How many rows the sample at that position has, on an axis or, without a name, on the one where
  /// a cursor's row is (`axis_of_cursor`). Nothing where the ring has axes and not that sample.
  [[nodiscard]] virtual std::optional<RowsThere> rows_at([[maybe_unused]] const std::string& axis,
                                                         [[maybe_unused]] std::uint64_t position) {
    return RowsThere();
  }
  /// For messages: `: its axes are tokens and boxes`, or nothing.
  [[nodiscard]] virtual std::string axes_text() const { return {}; }
  [[nodiscard]] virtual RingWriter& writer() noexcept = 0;
  [[nodiscard]] virtual const Segment& board_segment() const noexcept = 0;
  /// Adds the segments to a welcome, and their descriptors in the welcome's order.
  virtual void offer(Welcome& welcome, std::vector<int>& descriptors) = 0;

  // These run on the door's thread. A ring that a mirror fills starts a resting mirror here.
  [[nodiscard]] virtual std::variant<Admitted, NotAdmitted> admit(const AdmitRequest& request,
                                                                  std::shared_ptr<Desk> desk) = 0;
  [[nodiscard]] virtual std::variant<std::uint64_t, NotAdmitted> resume(std::uint32_t index,
                                                                        std::uint64_t consumer_id,
                                                                        Join join,
                                                                        std::uint64_t cursor) = 0;
  /// Called when a consumer left, paused or was evicted, and at each tick of the door server. Rests
  /// the mirror once no consumer of this ring asks for samples.
  virtual void look_for_demand() = 0;
  /// The ring gets no samples at present, since none of its consumers asks for any.
  [[nodiscard]] virtual bool rests() = 0;

  /// Waits until this ring's consumers have read all that was published. A ring that a mirror fills
  /// first waits for the copies. False at the time-out; a negative one never ends.
  [[nodiscard]] virtual bool wait_drained(int timeout_ms) = 0;
};

}  // namespace batchcast::inline v0_1::detail
