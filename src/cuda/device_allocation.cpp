// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cuda/device_allocation.hpp"

#include <batchcast/cuda/driver.hpp>

#include <fcntl.h>

#include <utility>

namespace batchcast::inline v0_1::detail::cuda {
namespace {

// A smaller allocation would share its neighbours in the same 2 MiB.
constexpr std::uint64_t legacy_granularity_bytes = std::uint64_t{2} << 20;

std::string to_hex(const CUipcMemHandle& handle) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string hex;
  for (const char each : handle.reserved) {
    hex += digits[static_cast<unsigned char>(each) >> 4];
    hex += digits[static_cast<unsigned char>(each) & 15];
  }
  return hex;
}

}  // namespace

DeviceAllocation::DeviceAllocation(std::shared_ptr<Device> device,
                                   const DeviceSegment::Request& request, Sharing sharing)
    : device_(std::move(device)), bytes_(request.bytes) {
  if (sharing == Sharing::descriptor) {
    share_as_descriptor(request.name);
    return;
  }
  const std::uint64_t pieces =
      (request.bytes + legacy_granularity_bytes - 1) / legacy_granularity_bytes;
  buffer_ = DeviceBuffer(device_, pieces * legacy_granularity_bytes, request.name);
}

void DeviceAllocation::share_as_descriptor(const std::string& name) {
  const Device::Current current(*device_);
  mapping_ = std::make_unique<DeviceMapping>(device_, name, bytes_);
  const Driver& driver = device_->driver();
  const CUmemAllocationProp wanted = exportable_memory(device_->handle());
  CUmemGenericAllocationHandle handle = 0;
  check_memory(*device_, driver.mem_create(&handle, bytes_, &wanted, 0), "cuMemCreate", name,
               bytes_);
  mapping_->take(handle);
  // It exports at once: a GPU that cannot (some under MIG) must show before any trainer attaches.
  int descriptor = -1;
  check(*device_,
        driver.mem_export_to_shareable_handle(&descriptor, handle,
                                              CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
        "cuMemExportToShareableHandle");
  exported_ = FileDescriptor(descriptor);
  // A program that this process starts would keep the memory alive.
  static_cast<void>(::fcntl(descriptor, F_SETFD, FD_CLOEXEC));
  mapping_->map();
  mapping_->set_access(DeviceAccess::read_write);
}

std::string DeviceAllocation::legacy_handle() const {
  if (buffer_.data() == nullptr) return {};
  const Device::Current current(*device_);
  CUipcMemHandle handle{};
  check(*device_, device_->driver().ipc_get_mem_handle(&handle, address_of(buffer_.data())),
        "cuIpcGetMemHandle");
  return to_hex(handle);
}

}  // namespace batchcast::inline v0_1::detail::cuda
