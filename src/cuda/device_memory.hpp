// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "cuda/device.hpp"

#include <batchcast/core/file_descriptor.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace batchcast::cuda {

enum class DeviceAccess { read_only, read_write };

/// How a segment's memory reaches other processes.
enum class Sharing {
  descriptor,  ///< virtual memory, exported as a file descriptor; freed when the last process that
               ///< has mapped it is gone
  legacy_ipc,  ///< cuIpcGetMemHandle; cannot be mapped twice, and dies with its owner
};

/// Memory of a GPU, for one field of a device ring, and where it is mapped in this process: twice,
/// back to back, with Sharing::descriptor; once with legacy_ipc. Move-only.
class DeviceSegment {
 public:
  struct Request {
    std::string name;         ///< for messages
    std::uint64_t bytes = 0;  ///< a multiple of the device's granularity
    Sharing sharing = Sharing::descriptor;
  };
  /// Of this process's own. Throws OutOfMemory, with what is free, GpuError.
  [[nodiscard]] static DeviceSegment create(std::shared_ptr<Device> device, const Request& request);
  /// Takes what another process exported, read-only where the driver can (`access` says how it came
  /// out). Throws Refused where it is no such memory, or has fewer bytes: the driver checks that.
  [[nodiscard]] static DeviceSegment adopt(std::shared_ptr<Device> device, const Request& request,
                                           FileDescriptor descriptor);
  [[nodiscard]] static DeviceSegment adopt_legacy(std::shared_ptr<Device> device,
                                                  const Request& request,
                                                  const std::string& hex_handle);
  ~DeviceSegment();
  DeviceSegment(DeviceSegment&&) noexcept;
  DeviceSegment& operator=(DeviceSegment&&) noexcept;

  /// The device's address of the first byte.
  [[nodiscard]] std::byte* data() const noexcept;
  [[nodiscard]] std::uint64_t bytes() const noexcept;
  [[nodiscard]] bool mapped_twice() const noexcept;
  [[nodiscard]] DeviceAccess access() const noexcept;
  /// A descriptor to be sent to others, made once; -1 with legacy_ipc. Borrowed.
  [[nodiscard]] int export_descriptor();
  /// Hexadecimal; empty with a descriptor.
  [[nodiscard]] std::string legacy_handle();

 private:
  struct State;
  explicit DeviceSegment(std::unique_ptr<State> state) noexcept;
  std::unique_ptr<State> state_;
};

/// Plain memory of this process's own on a GPU. Move-only.
class DeviceBuffer {
 public:
  DeviceBuffer() noexcept = default;
  /// Throws OutOfMemory, GpuError.
  DeviceBuffer(std::shared_ptr<Device> device, std::uint64_t bytes);
  ~DeviceBuffer();
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : device_(std::move(other.device_)),
        data_(std::exchange(other.data_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
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

}  // namespace batchcast::cuda
