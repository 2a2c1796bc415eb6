// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/cuda/device.hpp>

#include <batchcast/producer_options.hpp>
#include "ring/ring_plan.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// The fields of a device ring: where each lies, how large it is, and what it is made from.
struct DeviceRingLayout {
  struct Field {
    FieldSpec spec;
    FieldPlan plan;
    bool on_device = true;
    /// Index of the host field that it is a copy of; nothing for one that the stage makes.
    std::optional<std::size_t> copy_of;
  };
  std::vector<Field> fields;       ///< sample_id last
  std::vector<std::size_t> reads;  ///< host fields that the stage gets on the device
  std::uint64_t capacity = 0;      ///< C of this ring
  std::uint64_t granularity = 0;   ///< of the fields on the device
  bool host_limits = false;        ///< it could span more, but for its fields in host memory

  /// The fields on the device, as they are planned.
  [[nodiscard]] Schema on_device() const;
  /// The fields in host memory, sample_id last.
  [[nodiscard]] Schema on_host() const;
  /// The schema without sample_id.
  [[nodiscard]] Schema schema() const;
  [[nodiscard]] std::uint64_t device_bytes() const noexcept;
};

/// The smallest size from which on these fields on a GPU always hold that many samples.
[[nodiscard]] std::uint64_t device_memory_for(const Schema& on_device, std::uint64_t samples,
                                              std::uint64_t granularity);

/// As many samples as fit into the memory that the options give it. Throws InvalidArgument for
/// fields that cannot lie where they are wanted, and where not one sample fits.
[[nodiscard]] DeviceRingLayout plan_device_ring(const ProducerOptions& options,
                                                const detail::cuda::DeviceInfo& device);

}  // namespace batchcast::inline v0_1::detail
