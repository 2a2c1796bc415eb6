// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/cuda/device.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace batchcast::inline v0_1::cuda {

/// Host memory of this process's own that is page-locked for all of its GPUs. Move-only.
class HostBuffer {
 public:
  HostBuffer() noexcept = default;
  /// Throws OutOfMemory, GpuError.
  HostBuffer(std::shared_ptr<Device> device, std::uint64_t bytes);
  ~HostBuffer();
  HostBuffer(HostBuffer&& other) noexcept
      : device_(std::move(other.device_)),
        data_(std::exchange(other.data_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  HostBuffer& operator=(HostBuffer&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  std::shared_ptr<Device> device_;
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace batchcast::inline v0_1::cuda
