// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/cuda/device_memory.hpp>

#include <batchcast/core/file_descriptor.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace batchcast::inline v0_1::detail::cuda {

/// How a segment's memory reaches other processes.
enum class Sharing {
  descriptor,  ///< virtual memory, exported as a file descriptor; freed when the last process that
               ///< has mapped it is gone
  legacy_ipc,  ///< cuIpcGetMemHandle; cannot be mapped twice, and dies with its owner
};

/// Memory of a GPU that this process made for others to adopt (DeviceSegment), as this process maps
/// it. With Sharing::descriptor it is mapped twice, back to back; with legacy_ipc once. Move-only.
class DeviceAllocation {
 public:
  /// Throws OutOfMemory, with what is free, GpuError.
  DeviceAllocation(std::shared_ptr<Device> device, const DeviceSegment::Request& request,
                   Sharing sharing = Sharing::descriptor);

  /// The device's address of the first byte.
  [[nodiscard]] std::byte* data() const noexcept {
    return mapping_ ? mapping_->data() : buffer_.data();
  }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] bool mapped_twice() const noexcept { return mapping_ != nullptr; }
  /// Send it to others; -1 with legacy_ipc. It stays ours.
  [[nodiscard]] int descriptor() const noexcept { return exported_.get(); }
  /// Hexadecimal; empty with a descriptor. Throws GpuError.
  [[nodiscard]] std::string legacy_handle() const;

 private:
  void share_as_descriptor(const std::string& name);

  std::shared_ptr<Device> device_;
  std::uint64_t bytes_;
  std::unique_ptr<DeviceMapping> mapping_;  ///< with Sharing::descriptor
  FileDescriptor exported_;
  DeviceBuffer buffer_;  ///< with legacy_ipc
};

}  // namespace batchcast::inline v0_1::detail::cuda
