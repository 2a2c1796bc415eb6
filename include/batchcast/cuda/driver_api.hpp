// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstddef>

// What this library calls of CUDA's driver, declared here: no build needs cuda.h. Types, values and
// signatures follow CUDA's driver API as its reference documents it, for 64-bit Linux and every
// driver since 11.4 (470). They have CUDA's names in this namespace, so that a program may include
// cuda.h as well, before or after. What cuda.h makes a macro of has another name here.
// driver_api_check.cpp compares all of it with cuda.h in builds that find one.
namespace batchcast::inline v0_1::detail::cuda {

using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUmemGenericAllocationHandle = unsigned long long;
using CUcontext = struct CUctx_st*;
using CUstream = struct CUstream_st*;
using CUevent = struct CUevent_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUarray = struct CUarray_st*;

// Only the values that are used here. A driver may return others.

enum CUresult : unsigned {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_NOT_INITIALIZED = 3,
  CUDA_ERROR_DEINITIALIZED = 4,
  CUDA_ERROR_STUB_LIBRARY = 34,
  CUDA_ERROR_DEVICE_UNAVAILABLE = 46,
  CUDA_ERROR_NO_DEVICE = 100,
  CUDA_ERROR_INVALID_IMAGE = 200,
  CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
  CUDA_ERROR_ECC_UNCORRECTABLE = 214,
  CUDA_ERROR_INVALID_PTX = 218,
  CUDA_ERROR_NVLINK_UNCORRECTABLE = 220,
  CUDA_ERROR_JIT_COMPILER_NOT_FOUND = 221,
  CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
  CUDA_ERROR_CONTAINED = 226,
  CUDA_ERROR_OPERATING_SYSTEM = 304,
  CUDA_ERROR_INVALID_HANDLE = 400,
  CUDA_ERROR_NOT_READY = 600,
  CUDA_ERROR_ILLEGAL_ADDRESS = 700,
  CUDA_ERROR_LAUNCH_TIMEOUT = 702,
  CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
  CUDA_ERROR_ASSERT = 710,
  CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED = 712,
  CUDA_ERROR_HARDWARE_STACK_ERROR = 714,
  CUDA_ERROR_ILLEGAL_INSTRUCTION = 715,
  CUDA_ERROR_MISALIGNED_ADDRESS = 716,
  CUDA_ERROR_INVALID_ADDRESS_SPACE = 717,
  CUDA_ERROR_INVALID_PC = 718,
  CUDA_ERROR_LAUNCH_FAILED = 719,
  CUDA_ERROR_TENSOR_MEMORY_LEAK = 721,
  CUDA_ERROR_NOT_SUPPORTED = 801,
  CUDA_ERROR_SYSTEM_DRIVER_MISMATCH = 803,
  CUDA_ERROR_MPS_CLIENT_TERMINATED = 810,
  CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
  CUDA_ERROR_CAPTURED_EVENT = 907,
  CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD = 908,
};

enum CUdevice_attribute : unsigned {
  CU_DEVICE_ATTRIBUTE_INTEGRATED = 18,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
  CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES = 100,
  CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 102,
  CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED = 103,
  CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED = 113,
};

enum CUmemAllocationType : unsigned { CU_MEM_ALLOCATION_TYPE_PINNED = 1 };
enum CUmemAllocationHandleType : unsigned {
  CU_MEM_HANDLE_TYPE_NONE = 0,
  CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR = 1,
};
enum CUmemLocationType : unsigned { CU_MEM_LOCATION_TYPE_DEVICE = 1 };
enum CUmemAllocationGranularity_flags : unsigned { CU_MEM_ALLOC_GRANULARITY_MINIMUM = 0 };
enum CUmemAccess_flags : unsigned {
  CU_MEM_ACCESS_FLAGS_PROT_READ = 1,
  CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 3,
};
enum CUmemorytype : unsigned { CU_MEMORYTYPE_HOST = 1, CU_MEMORYTYPE_DEVICE = 2 };
enum CUstreamCaptureMode : unsigned { CU_STREAM_CAPTURE_MODE_RELAXED = 2 };
enum CUstreamCaptureStatus : unsigned { CU_STREAM_CAPTURE_STATUS_NONE = 0 };

// Flags, which functions take as plain numbers.
enum CUipcMem_flags : unsigned { CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS = 1 };
enum CUstream_flags : unsigned { CU_STREAM_NON_BLOCKING = 1 };
enum CUevent_flags : unsigned { CU_EVENT_BLOCKING_SYNC = 1, CU_EVENT_DISABLE_TIMING = 2 };
enum CUevent_wait_flags : unsigned { CU_EVENT_WAIT_DEFAULT = 0 };
inline constexpr unsigned mem_host_alloc_portable = 1;      // CU_MEMHOSTALLOC_PORTABLE
inline constexpr unsigned mem_host_register_portable = 1;   // CU_MEMHOSTREGISTER_PORTABLE
inline constexpr unsigned mem_host_register_read_only = 8;  // CU_MEMHOSTREGISTER_READ_ONLY

struct CUuuid {
  char bytes[16];
};

struct CUipcMemHandle {
  char reserved[64];
};

struct CUmemLocation {
  CUmemLocationType type;
  int id;
};

struct CUmemAllocationProp {
  CUmemAllocationType type;
  CUmemAllocationHandleType requestedHandleTypes;
  CUmemLocation location;
  void* win32HandleMetaData;
  struct {
    unsigned char compressionType;
    unsigned char gpuDirectRDMACapable;
    unsigned short usage;
    unsigned char reserved[4];
  } allocFlags;
};

struct CUmemAccessDesc {
  CUmemLocation location;
  CUmemAccess_flags flags;
};

struct CUDA_MEMCPY2D {
  std::size_t srcXInBytes;
  std::size_t srcY;
  CUmemorytype srcMemoryType;
  const void* srcHost;
  CUdeviceptr srcDevice;
  CUarray srcArray;
  std::size_t srcPitch;
  std::size_t dstXInBytes;
  std::size_t dstY;
  CUmemorytype dstMemoryType;
  void* dstHost;
  CUdeviceptr dstDevice;
  CUarray dstArray;
  std::size_t dstPitch;
  std::size_t WidthInBytes;
  std::size_t Height;
};

}  // namespace batchcast::inline v0_1::detail::cuda

// The functions that are called: FUNCTION(member of Driver, symbol of libcuda.so.1, arguments...).
// All return a CUresult. A symbol is the exact version that the driver exports, with its _v2: a
// name without may mean an older function of another type. It is looked up as it stands here, not
// through cuGetProcAddress. The first version of cuDeviceGetUuid gives a MIG part the UUID of its
// whole GPU.
// clang-format off
#define BATCHCAST_CUDA_FUNCTIONS(FUNCTION)                                                         \
  /* The driver and its devices. */                                                                \
  FUNCTION(init, cuInit, unsigned flags)                                                           \
  FUNCTION(driver_get_version, cuDriverGetVersion, int* version)                                   \
  FUNCTION(get_error_name, cuGetErrorName, CUresult result, const char** name)                     \
  FUNCTION(get_error_string, cuGetErrorString, CUresult result, const char** text)                 \
  FUNCTION(device_get_count, cuDeviceGetCount, int* count)                                         \
  FUNCTION(device_get, cuDeviceGet, CUdevice* device, int number)                                  \
  FUNCTION(device_get_name, cuDeviceGetName, char* name, int size, CUdevice device)                \
  FUNCTION(device_get_uuid, cuDeviceGetUuid_v2, CUuuid* uuid, CUdevice device)                     \
  FUNCTION(device_total_mem, cuDeviceTotalMem_v2, std::size_t* bytes, CUdevice device)             \
  FUNCTION(device_get_attribute, cuDeviceGetAttribute, int* value, CUdevice_attribute which,       \
           CUdevice device)                                                                        \
  /* Contexts. */                                                                                  \
  FUNCTION(device_primary_ctx_retain, cuDevicePrimaryCtxRetain, CUcontext* context,                \
           CUdevice device)                                                                        \
  FUNCTION(device_primary_ctx_release, cuDevicePrimaryCtxRelease_v2, CUdevice device)              \
  FUNCTION(ctx_push_current, cuCtxPushCurrent_v2, CUcontext context)                               \
  FUNCTION(ctx_pop_current, cuCtxPopCurrent_v2, CUcontext* context)                                \
  FUNCTION(ctx_get_current, cuCtxGetCurrent, CUcontext* context)                                   \
  FUNCTION(ctx_get_device, cuCtxGetDevice, CUdevice* device)                                       \
  FUNCTION(ctx_get_stream_priority_range, cuCtxGetStreamPriorityRange, int* least, int* greatest)  \
  /* Memory of the device. */                                                                      \
  FUNCTION(mem_get_info, cuMemGetInfo_v2, std::size_t* free, std::size_t* total)                   \
  FUNCTION(mem_alloc, cuMemAlloc_v2, CUdeviceptr* address, std::size_t bytes)                      \
  FUNCTION(mem_free, cuMemFree_v2, CUdeviceptr address)                                            \
  FUNCTION(mem_get_allocation_granularity, cuMemGetAllocationGranularity,                          \
           std::size_t* granularity, const CUmemAllocationProp* wanted,                            \
           CUmemAllocationGranularity_flags which)                                                 \
  FUNCTION(mem_create, cuMemCreate, CUmemGenericAllocationHandle* handle, std::size_t bytes,       \
           const CUmemAllocationProp* wanted, unsigned long long flags)                            \
  FUNCTION(mem_release, cuMemRelease, CUmemGenericAllocationHandle handle)                         \
  FUNCTION(mem_export_to_shareable_handle, cuMemExportToShareableHandle, void* shareable,          \
           CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type,                    \
           unsigned long long flags)                                                               \
  FUNCTION(mem_import_from_shareable_handle, cuMemImportFromShareableHandle,                       \
           CUmemGenericAllocationHandle* handle, void* shareable, CUmemAllocationHandleType type)  \
  FUNCTION(mem_address_reserve, cuMemAddressReserve, CUdeviceptr* address, std::size_t bytes,      \
           std::size_t alignment, CUdeviceptr wanted, unsigned long long flags)                    \
  FUNCTION(mem_address_free, cuMemAddressFree, CUdeviceptr address, std::size_t bytes)             \
  FUNCTION(mem_map, cuMemMap, CUdeviceptr address, std::size_t bytes, std::size_t offset,          \
           CUmemGenericAllocationHandle handle, unsigned long long flags)                          \
  FUNCTION(mem_unmap, cuMemUnmap, CUdeviceptr address, std::size_t bytes)                          \
  FUNCTION(mem_set_access, cuMemSetAccess, CUdeviceptr address, std::size_t bytes,                 \
           const CUmemAccessDesc* wanted, std::size_t count)                                       \
  FUNCTION(ipc_get_mem_handle, cuIpcGetMemHandle, CUipcMemHandle* handle, CUdeviceptr address)     \
  FUNCTION(ipc_open_mem_handle, cuIpcOpenMemHandle_v2, CUdeviceptr* address,                       \
           CUipcMemHandle handle, unsigned flags)                                                  \
  FUNCTION(ipc_close_mem_handle, cuIpcCloseMemHandle, CUdeviceptr address)                         \
  /* Memory of the host. */                                                                        \
  FUNCTION(mem_host_register, cuMemHostRegister_v2, void* data, std::size_t bytes, unsigned flags) \
  FUNCTION(mem_host_unregister, cuMemHostUnregister, void* data)                                   \
  FUNCTION(mem_host_alloc, cuMemHostAlloc, void** data, std::size_t bytes, unsigned flags)         \
  FUNCTION(mem_free_host, cuMemFreeHost, void* data)                                               \
  /* Copies. */                                                                                    \
  FUNCTION(memcpy_htod_async, cuMemcpyHtoDAsync_v2, CUdeviceptr to, const void* from,              \
           std::size_t bytes, CUstream stream)                                                     \
  FUNCTION(memcpy_dtoh_async, cuMemcpyDtoHAsync_v2, void* to, CUdeviceptr from,                    \
           std::size_t bytes, CUstream stream)                                                     \
  FUNCTION(memcpy_dtod_async, cuMemcpyDtoDAsync_v2, CUdeviceptr to, CUdeviceptr from,              \
           std::size_t bytes, CUstream stream)                                                     \
  FUNCTION(memcpy_2d_async, cuMemcpy2DAsync_v2, const CUDA_MEMCPY2D* copy, CUstream stream)        \
  FUNCTION(memcpy_dtoh, cuMemcpyDtoH_v2, void* to, CUdeviceptr from, std::size_t bytes)            \
  /* Streams and events. */                                                                        \
  FUNCTION(stream_create, cuStreamCreateWithPriority, CUstream* stream, unsigned flags,            \
           int priority)                                                                           \
  FUNCTION(stream_destroy, cuStreamDestroy_v2, CUstream stream)                                    \
  FUNCTION(stream_synchronize, cuStreamSynchronize, CUstream stream)                               \
  FUNCTION(stream_wait_event, cuStreamWaitEvent, CUstream stream, CUevent event, unsigned flags)   \
  FUNCTION(stream_is_capturing, cuStreamIsCapturing, CUstream stream,                              \
           CUstreamCaptureStatus* status)                                                          \
  FUNCTION(thread_exchange_stream_capture_mode, cuThreadExchangeStreamCaptureMode,                 \
           CUstreamCaptureMode* mode)                                                              \
  FUNCTION(event_create, cuEventCreate, CUevent* event, unsigned flags)                            \
  FUNCTION(event_record, cuEventRecord, CUevent event, CUstream stream)                            \
  FUNCTION(event_query, cuEventQuery, CUevent event)                                               \
  FUNCTION(event_synchronize, cuEventSynchronize, CUevent event)                                   \
  FUNCTION(event_destroy, cuEventDestroy_v2, CUevent event)                                        \
  /* Kernels. */                                                                                   \
  FUNCTION(module_load_data, cuModuleLoadData, CUmodule* module, const void* image)                \
  FUNCTION(module_unload, cuModuleUnload, CUmodule module)                                         \
  FUNCTION(module_get_function, cuModuleGetFunction, CUfunction* function, CUmodule module,        \
           const char* name)                                                                       \
  FUNCTION(launch_kernel, cuLaunchKernel, CUfunction function, unsigned grid_x, unsigned grid_y,   \
           unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,                  \
           unsigned shared_bytes, CUstream stream, void** arguments, void** extra)
// clang-format on
