// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "cuda/device.hpp"

#include <cuda.h>
#include <sys/types.h>

#include <cstddef>
#include <string>
#include <utility>

namespace batchcast::cuda {

/// The functions of libcuda.so.1 that are called, each of the type and by the exact name (with its
/// _v2) that cuda.h declares, so that a driver newer than the header means the same by them. One
/// table a process, never unloaded: other libraries of the process use the same driver.
struct Driver {
  int version = 0;    ///< 13000 for CUDA 13.0
  pid_t process = 0;  ///< the one that called cuInit; the driver is dead in its forked children

  // The driver and its devices.
  decltype(&cuInit) init;
  decltype(&cuDriverGetVersion) driver_get_version;
  decltype(&cuGetErrorName) get_error_name;
  decltype(&cuGetErrorString) get_error_string;
  decltype(&cuDeviceGetCount) device_get_count;
  decltype(&cuDeviceGet) device_get;
  decltype(&cuDeviceGetName) device_get_name;
  decltype(&cuDeviceGetUuid_v2) device_get_uuid;  // the first one gives MIG's parts their GPU's
  decltype(&cuDeviceTotalMem) device_total_mem;
  decltype(&cuDeviceGetAttribute) device_get_attribute;
  // Contexts.
  decltype(&cuDevicePrimaryCtxRetain) device_primary_ctx_retain;
  decltype(&cuDevicePrimaryCtxRelease) device_primary_ctx_release;
  decltype(&cuCtxPushCurrent) ctx_push_current;
  decltype(&cuCtxPopCurrent) ctx_pop_current;
  decltype(&cuCtxGetCurrent) ctx_get_current;
  // Memory of the device.
  decltype(&cuMemGetInfo) mem_get_info;
  decltype(&cuMemAlloc) mem_alloc;
  decltype(&cuMemFree) mem_free;
  decltype(&cuMemGetAllocationGranularity) mem_get_allocation_granularity;
  decltype(&cuMemCreate) mem_create;
  decltype(&cuMemRelease) mem_release;
  decltype(&cuMemExportToShareableHandle) mem_export_to_shareable_handle;
  decltype(&cuMemImportFromShareableHandle) mem_import_from_shareable_handle;
  decltype(&cuMemAddressReserve) mem_address_reserve;
  decltype(&cuMemAddressFree) mem_address_free;
  decltype(&cuMemMap) mem_map;
  decltype(&cuMemUnmap) mem_unmap;
  decltype(&cuMemSetAccess) mem_set_access;
  decltype(&cuIpcGetMemHandle) ipc_get_mem_handle;
  decltype(&cuIpcOpenMemHandle) ipc_open_mem_handle;
  decltype(&cuIpcCloseMemHandle) ipc_close_mem_handle;
  decltype(&cuPointerGetAttribute) pointer_get_attribute;
  // Memory of the host.
  decltype(&cuMemHostRegister) mem_host_register;
  decltype(&cuMemHostUnregister) mem_host_unregister;
  decltype(&cuMemHostAlloc) mem_host_alloc;
  decltype(&cuMemFreeHost) mem_free_host;
  // Copies.
  decltype(&cuMemcpyHtoDAsync) memcpy_htod_async;
  decltype(&cuMemcpyDtoHAsync) memcpy_dtoh_async;
  decltype(&cuMemcpyDtoDAsync) memcpy_dtod_async;
  decltype(&cuMemcpy2DAsync) memcpy_2d_async;
  decltype(&cuMemcpyDtoH) memcpy_dtoh;
  // Streams and events.
  decltype(&cuStreamCreate) stream_create;
  decltype(&cuStreamDestroy) stream_destroy;
  decltype(&cuStreamSynchronize) stream_synchronize;
  decltype(&cuStreamQuery) stream_query;
  decltype(&cuStreamWaitEvent) stream_wait_event;
  decltype(&cuStreamGetCtx) stream_get_ctx;
  decltype(&cuThreadExchangeStreamCaptureMode) thread_exchange_stream_capture_mode;
  decltype(&cuEventCreate) event_create;
  decltype(&cuEventRecord) event_record;
  decltype(&cuEventQuery) event_query;
  decltype(&cuEventSynchronize) event_synchronize;
  decltype(&cuEventDestroy) event_destroy;
  // Kernels.
  decltype(&cuModuleLoadData) module_load_data;
  decltype(&cuModuleUnload) module_unload;
  decltype(&cuModuleGetFunction) module_get_function;
  decltype(&cuLaunchKernel) launch_kernel;

  /// False in a process that was forked from the one that called cuInit.
  [[nodiscard]] bool of_this_process() const noexcept;
};

/// The process's driver, loaded and initialised at the first call; nullptr where there is none:
/// why_no_driver() says why.
[[nodiscard]] const Driver* find_driver();
/// Throws GpuUnavailable where there is none, Forked in a forked child of a process that has one.
[[nodiscard]] const Driver& need_driver();

/// "CUDA_ERROR_OUT_OF_MEMORY (out of memory)".
[[nodiscard]] std::string reason(const Driver& driver, CUresult result);

/// Throws GpuError, which names the call, `what` it was about (a device, mostly), the reason and
/// what can be done about it; Forked in a forked child, where every call fails.
[[noreturn]] void fail(const Driver& driver, CUresult result, const char* call,
                       const std::string& what, const std::string& cure = {});
/// "cuda:0 (NVIDIA H200)".
[[nodiscard]] std::string name_of(const DeviceInfo& device);

inline void check(const Driver& driver, CUresult result, const char* call,
                  const DeviceInfo& device) {
  if (result != CUDA_SUCCESS) fail(driver, result, call, name_of(device));
}
inline void check(const Device& device, CUresult result, const char* call) {
  check(device.driver(), result, call, device.info());
}

/// Calls `undo` with the device's context current, for destructors: not in forked children, nor
/// where the driver is gone already (at the process's exit) or the device is. Errors have nobody to
/// be told to.
template <class Undo>
void quietly(const Device& device, Undo&& undo) noexcept {
  const Driver& driver = device.driver();
  if (!driver.of_this_process()) return;
  if (driver.ctx_push_current(static_cast<CUcontext>(device.context())) != CUDA_SUCCESS) return;
  std::forward<Undo>(undo)(driver);
  CUcontext popped = nullptr;
  driver.ctx_pop_current(&popped);
}

/// CUDA's notion of an address.
[[nodiscard]] inline CUdeviceptr address_of(const std::byte* data) noexcept {
  return reinterpret_cast<CUdeviceptr>(data);
}

}  // namespace batchcast::cuda
