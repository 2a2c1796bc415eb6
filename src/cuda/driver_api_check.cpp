// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

// Compares driver_api.hpp with cuda.h, in builds that have one; makes no code.
#include <cuda.h>

#include <batchcast/cuda/driver.hpp>
#include <batchcast/cuda/driver_api.hpp>

#include <cstddef>
#include <type_traits>

// A name keeps its meaning within a major version: what a later one makes of it is not known, nor
// does a driver drop a symbol for it.
#if CUDA_VERSION >= 11040 && CUDA_VERSION < 14000
namespace {

namespace ours = batchcast::cuda;

// ---- the type of cuda.h that one of ours stands for

template <class Ours>
struct Theirs {
  using type = Ours;  // the language's own
};
template <class Ours>
using TheirsT = typename Theirs<Ours>::type;
template <class Ours>
struct Theirs<Ours*> {
  using type = TheirsT<Ours>*;
};
template <class Ours>
struct Theirs<const Ours> {
  using type = const TheirsT<Ours>;
};
template <class Result, class... Arguments>
struct Theirs<Result(Arguments...)> {
  using type = TheirsT<Result>(TheirsT<Arguments>...);
};

#define BATCHCAST_STANDS_FOR(name)                                              \
  template <>                                                                   \
  struct Theirs<ours::name> {                                                   \
    using type = ::name;                                                        \
    static_assert(sizeof(type) == sizeof(ours::name), #name);                   \
    static_assert(alignof(type) == alignof(ours::name), #name);                 \
    static_assert(std::is_class_v<type> == std::is_class_v<ours::name>, #name); \
  }
BATCHCAST_STANDS_FOR(CUcontext);
BATCHCAST_STANDS_FOR(CUstream);
BATCHCAST_STANDS_FOR(CUevent);
BATCHCAST_STANDS_FOR(CUmodule);
BATCHCAST_STANDS_FOR(CUfunction);
BATCHCAST_STANDS_FOR(CUarray);
BATCHCAST_STANDS_FOR(CUresult);
BATCHCAST_STANDS_FOR(CUdevice_attribute);
BATCHCAST_STANDS_FOR(CUmemAllocationType);
BATCHCAST_STANDS_FOR(CUmemAllocationHandleType);
BATCHCAST_STANDS_FOR(CUmemLocationType);
BATCHCAST_STANDS_FOR(CUmemAllocationGranularity_flags);
BATCHCAST_STANDS_FOR(CUmemAccess_flags);
BATCHCAST_STANDS_FOR(CUmemorytype);
BATCHCAST_STANDS_FOR(CUstreamCaptureMode);
BATCHCAST_STANDS_FOR(CUuuid);
BATCHCAST_STANDS_FOR(CUipcMemHandle);
BATCHCAST_STANDS_FOR(CUmemLocation);
BATCHCAST_STANDS_FOR(CUmemAllocationProp);
BATCHCAST_STANDS_FOR(CUmemAccessDesc);
BATCHCAST_STANDS_FOR(CUDA_MEMCPY2D);

static_assert(std::is_same_v<ours::CUdevice, ::CUdevice>);
static_assert(std::is_same_v<ours::CUdeviceptr, ::CUdeviceptr>);
static_assert(std::is_same_v<ours::CUmemGenericAllocationHandle, ::CUmemGenericAllocationHandle>);

// ---- functions: every one of the list, by the exact symbol that is looked up

#define BATCHCAST_SAME_FUNCTION(member, symbol, ...)                                          \
  static_assert(std::is_same_v<TheirsT<decltype(ours::Driver::member)>, decltype(&::symbol)>, \
                #symbol);
BATCHCAST_CUDA_FUNCTIONS(BATCHCAST_SAME_FUNCTION)

// ---- values

#define BATCHCAST_SAME_VALUE(name) \
  static_assert(static_cast<unsigned>(ours::name) == static_cast<unsigned>(::name), #name)
BATCHCAST_SAME_VALUE(CUDA_SUCCESS);
BATCHCAST_SAME_VALUE(CUDA_ERROR_INVALID_VALUE);
BATCHCAST_SAME_VALUE(CUDA_ERROR_OUT_OF_MEMORY);
BATCHCAST_SAME_VALUE(CUDA_ERROR_STUB_LIBRARY);
BATCHCAST_SAME_VALUE(CUDA_ERROR_NO_DEVICE);
BATCHCAST_SAME_VALUE(CUDA_ERROR_INVALID_IMAGE);
BATCHCAST_SAME_VALUE(CUDA_ERROR_NO_BINARY_FOR_GPU);
BATCHCAST_SAME_VALUE(CUDA_ERROR_INVALID_PTX);
BATCHCAST_SAME_VALUE(CUDA_ERROR_JIT_COMPILER_NOT_FOUND);
BATCHCAST_SAME_VALUE(CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
BATCHCAST_SAME_VALUE(CUDA_ERROR_OPERATING_SYSTEM);
BATCHCAST_SAME_VALUE(CUDA_ERROR_INVALID_HANDLE);
BATCHCAST_SAME_VALUE(CUDA_ERROR_NOT_READY);
BATCHCAST_SAME_VALUE(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
BATCHCAST_SAME_VALUE(CUDA_ERROR_NOT_SUPPORTED);
BATCHCAST_SAME_VALUE(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
BATCHCAST_SAME_VALUE(CU_DEVICE_ATTRIBUTE_INTEGRATED);
BATCHCAST_SAME_VALUE(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
BATCHCAST_SAME_VALUE(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
BATCHCAST_SAME_VALUE(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED);
BATCHCAST_SAME_VALUE(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED);
BATCHCAST_SAME_VALUE(CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED);
BATCHCAST_SAME_VALUE(CU_MEM_ALLOCATION_TYPE_PINNED);
BATCHCAST_SAME_VALUE(CU_MEM_HANDLE_TYPE_NONE);
BATCHCAST_SAME_VALUE(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
BATCHCAST_SAME_VALUE(CU_MEM_LOCATION_TYPE_DEVICE);
BATCHCAST_SAME_VALUE(CU_MEM_ALLOC_GRANULARITY_MINIMUM);
BATCHCAST_SAME_VALUE(CU_MEM_ACCESS_FLAGS_PROT_READ);
BATCHCAST_SAME_VALUE(CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
BATCHCAST_SAME_VALUE(CU_MEMORYTYPE_HOST);
BATCHCAST_SAME_VALUE(CU_MEMORYTYPE_DEVICE);
BATCHCAST_SAME_VALUE(CU_STREAM_CAPTURE_MODE_RELAXED);
BATCHCAST_SAME_VALUE(CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
BATCHCAST_SAME_VALUE(CU_STREAM_NON_BLOCKING);
BATCHCAST_SAME_VALUE(CU_EVENT_BLOCKING_SYNC);
BATCHCAST_SAME_VALUE(CU_EVENT_DISABLE_TIMING);
BATCHCAST_SAME_VALUE(CU_EVENT_WAIT_DEFAULT);
static_assert(ours::mem_host_register_portable == CU_MEMHOSTREGISTER_PORTABLE);
static_assert(ours::mem_host_register_read_only == CU_MEMHOSTREGISTER_READ_ONLY);

// ---- members

#define BATCHCAST_SAME_MEMBER(name, member)                                                   \
  static_assert(offsetof(ours::name, member) == offsetof(::name, member), #name "." #member); \
  static_assert(sizeof(ours::name::member) == sizeof(::name::member), #name "." #member)
BATCHCAST_SAME_MEMBER(CUuuid, bytes);
BATCHCAST_SAME_MEMBER(CUipcMemHandle, reserved);
BATCHCAST_SAME_MEMBER(CUmemLocation, type);
BATCHCAST_SAME_MEMBER(CUmemLocation, id);
BATCHCAST_SAME_MEMBER(CUmemAllocationProp, type);
BATCHCAST_SAME_MEMBER(CUmemAllocationProp, requestedHandleTypes);
BATCHCAST_SAME_MEMBER(CUmemAllocationProp, location);
BATCHCAST_SAME_MEMBER(CUmemAllocationProp, win32HandleMetaData);
BATCHCAST_SAME_MEMBER(CUmemAllocationProp, allocFlags);
BATCHCAST_SAME_MEMBER(CUmemAccessDesc, location);
BATCHCAST_SAME_MEMBER(CUmemAccessDesc, flags);
BATCHCAST_SAME_MEMBER(CUDA_MEMCPY2D, srcXInBytes);
BATCHCAST_SAME_MEMBER(CUDA_MEMCPY2D, srcY);
BATCHCAST_SAME_MEMBER(CUDA_MEMCPY2D, srcMemoryType);
BATCHCAST_SAME_MEMBER(CUDA_MEMCPY2D, srcHost);
BATCHCAST_SAME_MEMBER(CUDA_MEMCPY2D, srcDevice);
BATCHCAST_SAME_MEMBER(CUDA_MEMCPY2D, srcArray);
BATCHCAST_SAME_MEMBER(CUDA_MEMCPY2D, srcPitch);
BATCHCAST_SAME_MEMBER(CUDA_MEMCPY2D, dstXInBytes);
BATCHCAST_SAME_MEMBER(CUDA_MEMCPY2D, dstY);
BATCHCAST_SAME_MEMBER(CUDA_MEMCPY2D, dstMemoryType);
BATCHCAST_SAME_MEMBER(CUDA_MEMCPY2D, dstHost);
BATCHCAST_SAME_MEMBER(CUDA_MEMCPY2D, dstDevice);
BATCHCAST_SAME_MEMBER(CUDA_MEMCPY2D, dstArray);
BATCHCAST_SAME_MEMBER(CUDA_MEMCPY2D, dstPitch);
BATCHCAST_SAME_MEMBER(CUDA_MEMCPY2D, WidthInBytes);
BATCHCAST_SAME_MEMBER(CUDA_MEMCPY2D, Height);

}  // namespace
#endif
