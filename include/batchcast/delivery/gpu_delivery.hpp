// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/consumer/delivery.hpp>
#include <batchcast/core/log.hpp>

#include <memory>

namespace batchcast::inline v0_1::detail {

/// Makes one for that GPU. Throws GpuUnavailable, GpuError, and Forked in a child of a process that
/// has used CUDA.
[[nodiscard]] std::unique_ptr<Delivery> make_delivery(unsigned device, LogCallback log = {});

/// From now on consumers of this program can be placed on a GPU, or pinned. True.
[[gnu::visibility("hidden")]] bool bring_gpu() noexcept;

}  // namespace batchcast::inline v0_1::detail
