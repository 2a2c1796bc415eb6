// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/log.hpp>
#include <batchcast/core/placement.hpp>
#include <batchcast/join/message.hpp>
#include <batchcast/producer.hpp>
#include <batchcast/ring/board.hpp>
#include <batchcast/ring/capacity.hpp>
#include <batchcast/ring/memory.hpp>
#include <batchcast/ring/window.hpp>
#include "ring/writer/writer.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace batchcast::inline v0_1::detail {

class HostPins;

/// Another ring that shows the same stream, with a board, a writer and consumers of its own: one on
/// a GPU, which a mirror fills from the host ring. It copies only while a trainer of its own asks
/// for samples; a mirror gates the host ring then, and does not count anywhere as a consumer.
class ServedRing {
 public:
  /// What it is made from. All of it outlives the ring.
  struct Parts {
    const ProducerOptions& options;
    Placement placement;
    Board host_board;
    RingWriter& host_writer;
    const Schema& host_fields;  ///< sample_id last
    const RingPlan& host_plan;
    const std::vector<FieldWindow>& host_windows;  ///< writable, sample_id last
    std::uint64_t first_consumer_id = 1;           ///< consumer_ids of all rings differ
    /// What the rings of one producer share: its page-locked memory. The first one makes it; it has
    /// to go before the host ring's mappings do.
    std::shared_ptr<HostPins>* host_pins = nullptr;
    LogCallback log;
    /// Its writer evicted a consumer on its own account.
    std::function<void(std::uint64_t consumer_id, const std::string& reason)> on_evicted;
  };

  ServedRing() = default;
  ServedRing(const ServedRing&) = delete;
  ServedRing& operator=(const ServedRing&) = delete;
  /// Ends the mirror. What consumers have mapped stays theirs.
  virtual ~ServedRing() = default;

  [[nodiscard]] virtual Placement placement() const noexcept = 0;
  /// What a hello names it by: the GPU's UUID.
  [[nodiscard]] virtual const std::string& id() const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t capacity() const noexcept = 0;
  /// Bytes of the GPU's memory.
  [[nodiscard]] virtual std::uint64_t memory() const noexcept = 0;
  /// Of it, for messages: what --device-memory has to be for that many samples.
  [[nodiscard]] virtual std::uint64_t memory_for_samples(std::uint64_t samples) const = 0;
  [[nodiscard]] virtual RingWriter& writer() noexcept = 0;
  [[nodiscard]] virtual const Segment& board() const noexcept = 0;
  /// Adds the segments to a welcome, and their descriptors in the welcome's order.
  virtual void offer(Welcome& welcome, std::vector<int>& descriptors) = 0;

  // On the door's thread. They start the mirror where it rests.
  [[nodiscard]] virtual std::variant<Admitted, NotAdmitted> admit(const AdmitRequest& request,
                                                                  std::shared_ptr<Desk> desk) = 0;
  [[nodiscard]] virtual std::variant<std::uint64_t, NotAdmitted> resume(std::uint32_t index,
                                                                        std::uint64_t consumer_id,
                                                                        Join join,
                                                                        std::uint64_t cursor) = 0;
  /// Somebody left, paused or was evicted; also called at each tick. Rests the mirror where nobody
  /// asks for samples any more.
  virtual void look_for_demand() = 0;

  /// After the host ring's stream has come to its end, in whatever way: everything has been copied,
  /// and its consumers have drained. False at the time-out. Negative: waits for ever.
  [[nodiscard]] virtual bool wait_drained(int timeout_ms) = 0;
};

/// What can be known of a further ring before the host ring is made.
struct PlaceOutlook {
  /// For each field of the host's schema how far apart its samples lie in the further ring; 0 where
  /// they are not copied there as they are. Between equal strides a run of samples is one copy.
  std::vector<std::uint64_t> strides;
  /// Whatever was taken into use to find out. To be kept until the ring is made: a GPU's context is
  /// costly to make.
  std::shared_ptr<const void> in_use;
};

/// Throws GpuUnavailable, GpuError, OutOfMemory, InvalidArgument where no ring can be had there.
[[nodiscard]] PlaceOutlook look_at_device(const ProducerOptions& options, Placement placement);
/// Throws the same.
[[nodiscard]] std::unique_ptr<ServedRing> make_device_ring(ServedRing::Parts parts);

/// Where a producer's further rings come from.
struct ServedRings {
  std::function<PlaceOutlook(const ProducerOptions&, Placement)> look_at = look_at_device;
  std::function<std::unique_ptr<ServedRing>(ServedRing::Parts)> make = make_device_ring;
};

}  // namespace batchcast::inline v0_1::detail
