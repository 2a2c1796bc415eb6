// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/cuda/device_memory.hpp>

#include <batchcast/core/inline.hpp>
#include <batchcast/cuda/driver.hpp>

#include <batchcast/core/error.hpp>

#include <cstring>

namespace batchcast::inline v0_1::detail::cuda {
namespace memory_detail {

/// False where `hex` is no handle.
inline bool from_hex(const std::string& hex, CUipcMemHandle& handle) {
  static constexpr char digits[] = "0123456789abcdef";
  if (hex.size() != 2 * sizeof handle.reserved) return false;
  for (std::size_t i = 0; i < sizeof handle.reserved; ++i) {
    const char* high = std::strchr(digits, hex[2 * i]);
    const char* low = std::strchr(digits, hex[2 * i + 1]);
    if (high == nullptr || low == nullptr || *high == '\0' || *low == '\0') return false;
    handle.reserved[i] = static_cast<char>((high - digits) << 4 | (low - digits));
  }
  return true;
}

}  // namespace memory_detail

BATCHCAST_INLINE DeviceSegment DeviceSegment::adopt(std::shared_ptr<Device> device,
                                                    const Request& request,
                                                    FileDescriptor descriptor) {
  DeviceSegment segment(std::move(device), request.bytes);
  const Device::Current current(*segment.device_);
  auto mapping = std::make_unique<DeviceMapping>(segment.device_, request.name, request.bytes);
  mapping->import(descriptor.get());
  mapping->map();
  segment.access_ = DeviceAccess::read_only;
  if (!mapping->try_access(DeviceAccess::read_only)) {
    segment.access_ = DeviceAccess::read_write;
    mapping->set_access(DeviceAccess::read_write);
  }
  segment.mapping_ = std::move(mapping);
  return segment;
}

BATCHCAST_INLINE DeviceSegment DeviceSegment::adopt_legacy(std::shared_ptr<Device> device,
                                                           const Request& request,
                                                           const std::string& hex_handle) {
  DeviceSegment segment(std::move(device), request.bytes);
  const Device& on = *segment.device_;
  CUipcMemHandle handle{};
  if (!memory_detail::from_hex(hex_handle, handle)) {
    throw Refused(text("what the producer sent for {} is no CUDA IPC handle", request.name));
  }
  const Device::Current current(on);
  CUdeviceptr base = 0;
  const CUresult result =
      on.driver().ipc_open_mem_handle(&base, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
  if (result == CUDA_ERROR_INVALID_VALUE || result == CUDA_ERROR_INVALID_HANDLE) {
    throw Refused(
        text("the CUDA IPC handle that the producer sent for {} leads nowhere on {}: {}; "
             "containers must share their process ids (--pid=host)",
             request.name, name_of(on.info()), reason(on.driver(), result)));
  }
  check(on, result, "cuIpcOpenMemHandle");
  segment.opened_ = reinterpret_cast<std::byte*>(base);
  return segment;
}

BATCHCAST_INLINE DeviceSegment::~DeviceSegment() {
  if (opened_ == nullptr) return;
  quietly(*device_,
          [this](const Driver& driver) { driver.ipc_close_mem_handle(address_of(opened_)); });
}

BATCHCAST_INLINE DeviceBuffer::DeviceBuffer(std::shared_ptr<Device> device, std::uint64_t bytes,
                                            const std::string& name)
    : OwnedMemory(std::move(device), bytes) {
  if (bytes == 0) return;
  const Device::Current current(*device_);
  CUdeviceptr base = 0;
  check_memory(*device_, device_->driver().mem_alloc(&base, bytes), "cuMemAlloc", name, bytes);
  data_ = reinterpret_cast<std::byte*>(base);
}

BATCHCAST_INLINE DeviceBuffer::~DeviceBuffer() {
  if (data_ == nullptr) return;
  quietly(*device_, [this](const Driver& driver) { driver.mem_free(address_of(data_)); });
}

}  // namespace batchcast::inline v0_1::detail::cuda
