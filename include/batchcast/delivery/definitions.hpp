// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/consumer/definitions.hpp>
#include <batchcast/cuda/device.ipp>
#include <batchcast/cuda/device_mapping.ipp>
#include <batchcast/cuda/device_memory.ipp>
#include <batchcast/cuda/driver.ipp>
#include <batchcast/cuda/host_buffer.ipp>
#include <batchcast/cuda/host_pin.ipp>
#include <batchcast/cuda/stream.ipp>
#include <batchcast/delivery/gpu_delivery.ipp>
#include <batchcast/delivery/release_poller.ipp>

namespace batchcast::inline v0_1::detail {

[[gnu::visibility("hidden")]] inline const bool gpu_is_here = bring_gpu();

}  // namespace batchcast::inline v0_1::detail
