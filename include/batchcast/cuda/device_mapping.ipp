// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/cuda/device_mapping.hpp>

#include <batchcast/core/inline.hpp>
#include <batchcast/cuda/driver.hpp>

#include <batchcast/core/error.hpp>

namespace batchcast::inline v0_1::detail::cuda {

BATCHCAST_INLINE DeviceMapping::~DeviceMapping() {
  quietly(*device_, [this](const Driver& driver) {
    for (unsigned i = 0; i < mappings_; ++i) driver.mem_unmap(base_ + i * bytes_, bytes_);
    if (base_ != 0) driver.mem_address_free(base_, 2 * bytes_);
    if (has_handle_) driver.mem_release(handle_);
  });
}

BATCHCAST_INLINE void DeviceMapping::take(std::uint64_t handle) noexcept {
  handle_ = handle;
  has_handle_ = true;
}

BATCHCAST_INLINE void DeviceMapping::import(int descriptor) {
  const auto as_handle = reinterpret_cast<void*>(static_cast<std::uintptr_t>(descriptor));
  CUmemGenericAllocationHandle handle = 0;
  const CUresult result = device_->driver().mem_import_from_shareable_handle(
      &handle, as_handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  if (result == CUDA_ERROR_INVALID_VALUE || result == CUDA_ERROR_INVALID_HANDLE ||
      result == CUDA_ERROR_OPERATING_SYSTEM || result == CUDA_ERROR_NOT_SUPPORTED) {
    throw Refused(text("what the producer sent for {} is no memory that {} can take: {}", name_,
                       name_of(device_->info()), reason(device_->driver(), result)));
  }
  check(*device_, result, "cuMemImportFromShareableHandle");
  take(handle);
  imported_ = true;
}

BATCHCAST_INLINE void DeviceMapping::map() {
  const Driver& driver = device_->driver();
  CUdeviceptr base = 0;
  check_memory(*device_, driver.mem_address_reserve(&base, 2 * bytes_, 0, 0, 0),
               "cuMemAddressReserve", name_, bytes_);
  base_ = base;
  for (; mappings_ < 2; ++mappings_) {
    const CUresult result = driver.mem_map(base_ + mappings_ * bytes_, bytes_, 0, handle_, 0);
    if (imported_ && result == CUDA_ERROR_INVALID_VALUE) {
      throw Refused(
          text("the memory that the producer sent for {} does not have {} bytes, as its layout "
               "says ({})",
               name_, bytes_, name_of(device_->info())));
    }
    check_memory(*device_, result, "cuMemMap", name_, bytes_);
  }
}

BATCHCAST_INLINE bool DeviceMapping::try_access(DeviceAccess access) {
  return access_result(access) == CUDA_SUCCESS;
}

BATCHCAST_INLINE void DeviceMapping::set_access(DeviceAccess access) {
  check(*device_, static_cast<CUresult>(access_result(access)), "cuMemSetAccess");
}

BATCHCAST_INLINE unsigned DeviceMapping::access_result(DeviceAccess access) {
  CUmemAccessDesc wanted{};
  wanted.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  wanted.location.id = device_->handle();
  wanted.flags = access == DeviceAccess::read_only ? CU_MEM_ACCESS_FLAGS_PROT_READ
                                                   : CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return device_->driver().mem_set_access(base_, 2 * bytes_, &wanted, 1);
}

}  // namespace batchcast::inline v0_1::detail::cuda
