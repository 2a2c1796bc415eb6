// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/log.hpp>
#include <batchcast/core/placement.hpp>
#include <batchcast/producer_options.hpp>
#include "served/host_ring.hpp"
#include "served/served_ring.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

// Where a producer gets the rings on GPUs. src/gpu makes them; tests make others.
namespace batchcast::inline v0_1::detail {

class HostPins;

/// What can be known about a device ring before the host ring is made.
struct DeviceRingOutlook {
  /// For each field of the schema how far apart its samples lie in the device ring; 0 where they
  /// are not copied there unchanged. Between equal strides a run of samples is one copy.
  std::vector<std::uint64_t> strides;
  /// What had to be taken into use to find out. Keep it until the ring is made: a GPU's context is
  /// costly to make.
  std::shared_ptr<const void> in_use;
};

/// What a device ring is made from. All members must outlive the ring.
struct DeviceRingParts {
  const ProducerOptions& options;
  Placement placement;
  HostRing& host;                       ///< its mirror copies from there
  std::uint64_t first_consumer_id = 1;  ///< consumer_ids of all rings differ
  /// The page-locked memory that the device rings of one producer share. The first of them makes
  /// it. It has to be released before the host ring's mappings are.
  std::shared_ptr<HostPins>* host_pins = nullptr;
  LogCallback log = {};
  OnEvicted on_evicted = {};
};

/// ServedRing::id of the ring on that GPU. Throws GpuUnavailable, GpuError.
[[nodiscard]] std::string device_id(Placement placement);
/// Throws GpuUnavailable, GpuError, OutOfMemory, and InvalidArgument where there can be no ring.
[[nodiscard]] DeviceRingOutlook look_at_device(const ProducerOptions& options, Placement placement);
/// Makes a ring on a GPU, which a mirror fills from the host ring. The mirror copies only while a
/// consumer of this ring asks for samples. Then it gates the host ring, and nothing counts it as a
/// consumer. Throws the same.
[[nodiscard]] std::unique_ptr<ServedRing> make_device_ring(const DeviceRingParts& parts);

/// Where a producer's device rings come from.
struct DeviceRingMaker {
  std::function<DeviceRingOutlook(const ProducerOptions&, Placement)> look_at = look_at_device;
  std::function<std::unique_ptr<ServedRing>(const DeviceRingParts&)> make = make_device_ring;
  std::function<std::string(Placement)> id_of = device_id;
};

}  // namespace batchcast::inline v0_1::detail
