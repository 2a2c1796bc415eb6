// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

// The driver, as a trainer uses it.
#include <batchcast/cuda/device.ipp>
#include <batchcast/cuda/device_mapping.ipp>
#include <batchcast/cuda/device_memory.ipp>
#include <batchcast/cuda/driver.ipp>
#include <batchcast/cuda/host_buffer.ipp>
#include <batchcast/cuda/host_pin.ipp>
#include <batchcast/cuda/stream.ipp>
