// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "control.hpp"

#include "../catch.hpp"

#include <cuda.h>

#include <cstddef>

namespace batchcast::fake_cuda {

inline constexpr std::size_t megabyte = std::size_t{1} << 20;

/// The fake with these settings and device 0's context current, for one test.
class InUse {
 public:
  explicit InUse(const char* settings = "") {
    batchcast_fake_cuda_configure(settings);
    REQUIRE(cuInit(0) == CUDA_SUCCESS);
    REQUIRE(cuDevicePrimaryCtxRetain(&context_, 0) == CUDA_SUCCESS);
    REQUIRE(cuCtxPushCurrent(context_) == CUDA_SUCCESS);
  }
  ~InUse() {
    batchcast_fake_cuda_configure("");
    CUcontext popped = nullptr;
    cuCtxPopCurrent(&popped);
    cuDevicePrimaryCtxRelease(0);
  }
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;

  [[nodiscard]] CUcontext context() const { return context_; }

 private:
  CUcontext context_ = nullptr;
};

inline CUdeviceptr allocate(std::size_t bytes) {
  CUdeviceptr address = 0;
  REQUIRE(cuMemAlloc(&address, bytes) == CUDA_SUCCESS);
  return address;
}

inline CUstream new_stream() {
  CUstream stream = nullptr;
  REQUIRE(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
  return stream;
}

inline CUmemAllocationProp exportable() {
  CUmemAllocationProp wanted{};
  wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  wanted.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  wanted.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  return wanted;
}

/// Memory of two addresses, one behind the other.
struct Twice {
  CUmemGenericAllocationHandle handle = 0;
  CUdeviceptr address = 0;
  std::size_t bytes = 0;

  void map(CUmemAccess_flags flags) {
    REQUIRE(cuMemAddressReserve(&address, 2 * bytes, 0, 0, 0) == CUDA_SUCCESS);
    REQUIRE(cuMemMap(address, bytes, 0, handle, 0) == CUDA_SUCCESS);
    REQUIRE(cuMemMap(address + bytes, bytes, 0, handle, 0) == CUDA_SUCCESS);
    CUmemAccessDesc access{};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.flags = flags;
    REQUIRE(cuMemSetAccess(address, 2 * bytes, &access, 1) == CUDA_SUCCESS);
  }
  void unmap() const {
    CHECK(cuMemUnmap(address, 2 * bytes) == CUDA_SUCCESS);
    CHECK(cuMemAddressFree(address, 2 * bytes) == CUDA_SUCCESS);
  }
};

}  // namespace batchcast::fake_cuda
