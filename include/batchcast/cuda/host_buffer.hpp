// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/cuda/owned_memory.hpp>

#include <cstdint>
#include <memory>

namespace batchcast::inline v0_1::detail::cuda {

/// Host memory that this process owns, page-locked for all of its GPUs. Move-only.
class HostBuffer : public OwnedMemory {
 public:
  HostBuffer() noexcept = default;
  /// Throws OutOfMemory, GpuError.
  HostBuffer(std::shared_ptr<Device> device, std::uint64_t bytes);
  ~HostBuffer();
  HostBuffer(HostBuffer&&) noexcept = default;
  HostBuffer& operator=(HostBuffer&&) noexcept = default;
};

}  // namespace batchcast::inline v0_1::detail::cuda
