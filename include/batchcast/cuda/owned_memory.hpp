// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/cuda/device.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace batchcast::inline v0_1::detail::cuda {

/// What buffers of the driver have in common. Move-only; the derived class frees the memory.
class OwnedMemory {
 public:
  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

 protected:
  OwnedMemory() noexcept = default;
  OwnedMemory(std::shared_ptr<Device> device, std::uint64_t bytes) noexcept
      : device_(std::move(device)), bytes_(bytes) {}
  ~OwnedMemory() = default;
  OwnedMemory(OwnedMemory&& other) noexcept
      : device_(std::move(other.device_)),
        data_(std::exchange(other.data_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  OwnedMemory& operator=(OwnedMemory&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  std::shared_ptr<Device> device_;
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace batchcast::inline v0_1::detail::cuda
