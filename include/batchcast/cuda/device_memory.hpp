// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/cuda/device.hpp>
#include <batchcast/cuda/device_mapping.hpp>
#include <batchcast/cuda/owned_memory.hpp>

#include <batchcast/core/file_descriptor.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace batchcast::inline v0_1::detail::cuda {

/// Memory of a GPU for one field of a device ring, as this process maps it. Another process made it
/// (DeviceAllocation). It is mapped twice, back to back, if it came as a descriptor, and once if it
/// came by a legacy handle. Move-only.
class DeviceSegment {
 public:
  struct Request {
    std::string name;         ///< for messages
    std::uint64_t bytes = 0;  ///< a multiple of the device's granularity
  };
  /// Maps the memory, read-only where the driver can (`access` says which it is). Throws Refused
  /// where the driver finds that it is no such memory, or has fewer bytes. Throws GpuError.
  [[nodiscard]] static DeviceSegment adopt(std::shared_ptr<Device> device, const Request& request,
                                           FileDescriptor descriptor);
  [[nodiscard]] static DeviceSegment adopt_legacy(std::shared_ptr<Device> device,
                                                  const Request& request,
                                                  const std::string& hex_handle);
  ~DeviceSegment();
  DeviceSegment(DeviceSegment&& other) noexcept
      : device_(std::move(other.device_)),
        mapping_(std::move(other.mapping_)),
        opened_(std::exchange(other.opened_, nullptr)),
        bytes_(other.bytes_),
        access_(other.access_) {}
  DeviceSegment& operator=(DeviceSegment&&) = delete;

  /// The device's address of the first byte.
  [[nodiscard]] std::byte* data() const noexcept { return mapping_ ? mapping_->data() : opened_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] bool mapped_twice() const noexcept { return mapping_ != nullptr; }
  [[nodiscard]] DeviceAccess access() const noexcept { return access_; }

 private:
  DeviceSegment(std::shared_ptr<Device> device, std::uint64_t bytes) noexcept
      : device_(std::move(device)), bytes_(bytes) {}

  std::shared_ptr<Device> device_;
  std::unique_ptr<DeviceMapping> mapping_;  ///< of a descriptor's memory
  std::byte* opened_ = nullptr;             ///< by a legacy handle
  std::uint64_t bytes_;
  DeviceAccess access_ = DeviceAccess::read_write;
};

/// Plain memory on a GPU that this process owns. Move-only.
class DeviceBuffer : public OwnedMemory {
 public:
  DeviceBuffer() noexcept = default;
  /// `name` is for messages. Throws OutOfMemory, GpuError.
  DeviceBuffer(std::shared_ptr<Device> device, std::uint64_t bytes,
               const std::string& name = "a buffer");
  ~DeviceBuffer();
  DeviceBuffer(DeviceBuffer&&) noexcept = default;
  DeviceBuffer& operator=(DeviceBuffer&&) noexcept = default;
};

}  // namespace batchcast::inline v0_1::detail::cuda
