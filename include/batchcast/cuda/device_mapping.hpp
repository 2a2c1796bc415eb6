// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/cuda/device.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace batchcast::inline v0_1::detail::cuda {

enum class DeviceAccess { read_only, read_write };

/// Virtual memory of a GPU, mapped twice, back to back. It is made step by step, with the device's
/// context current; the destructor undoes as many steps as were taken.
class DeviceMapping {
 public:
  /// `name` is for messages; `bytes` are a multiple of the device's granularity.
  DeviceMapping(std::shared_ptr<Device> device, std::string name, std::uint64_t bytes)
      : device_(std::move(device)), name_(std::move(name)), bytes_(bytes) {}
  ~DeviceMapping();
  DeviceMapping(const DeviceMapping&) = delete;
  DeviceMapping& operator=(const DeviceMapping&) = delete;

  /// Takes over memory that this process made, a CUmemGenericAllocationHandle.
  void take(std::uint64_t handle) noexcept;
  /// Takes memory that another process exported as `descriptor`, which the caller keeps. Throws
  /// Refused where this is no memory of that GPU.
  void import(int descriptor);
  /// Maps the memory. Throws OutOfMemory, GpuError; Refused where imported memory has fewer bytes.
  void map();
  /// Sets the access. False where the driver cannot do it.
  [[nodiscard]] bool try_access(DeviceAccess access);
  /// Sets the access. Throws GpuError.
  void set_access(DeviceAccess access);

  /// The device's address of the first byte, once it is mapped.
  [[nodiscard]] std::byte* data() const noexcept { return reinterpret_cast<std::byte*>(base_); }

 private:
  /// CUresult.
  [[nodiscard]] unsigned access_result(DeviceAccess access);

  std::shared_ptr<Device> device_;
  std::string name_;
  std::uint64_t bytes_;
  std::uint64_t handle_ = 0;
  bool has_handle_ = false;
  bool imported_ = false;
  std::uint64_t base_ = 0;
  unsigned mappings_ = 0;
};

}  // namespace batchcast::inline v0_1::detail::cuda
