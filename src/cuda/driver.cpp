// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cuda/driver.hpp"

#include <batchcast/core/error.hpp>

#include <dlfcn.h>
#include <unistd.h>

#include <optional>

// Only the preprocessor knows what cuda.h makes of a name: cuMemAlloc stands for cuMemAlloc_v2.
#define BATCHCAST_TEXT_OF(name) #name
#define BATCHCAST_NAME_OF(function) BATCHCAST_TEXT_OF(function)
#define BATCHCAST_RESOLVE(member, function) resolver(driver.member, BATCHCAST_NAME_OF(function))

namespace batchcast::cuda {
namespace {

class Resolver {
 public:
  explicit Resolver(void* library) noexcept : library_(library) {}
  template <class Function>
  void operator()(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(library_, name));
    if (function == nullptr && missing_ == nullptr) missing_ = name;
  }
  /// The first one that the library lacks.
  [[nodiscard]] const char* missing() const noexcept { return missing_; }

 private:
  void* library_;
  const char* missing_ = nullptr;
};

void resolve_basics(Resolver& resolver, Driver& driver) {
  BATCHCAST_RESOLVE(init, cuInit);
  BATCHCAST_RESOLVE(driver_get_version, cuDriverGetVersion);
  BATCHCAST_RESOLVE(get_error_name, cuGetErrorName);
  BATCHCAST_RESOLVE(get_error_string, cuGetErrorString);
  BATCHCAST_RESOLVE(device_get_count, cuDeviceGetCount);
  BATCHCAST_RESOLVE(device_get, cuDeviceGet);
  BATCHCAST_RESOLVE(device_get_name, cuDeviceGetName);
  BATCHCAST_RESOLVE(device_get_uuid, cuDeviceGetUuid_v2);
  BATCHCAST_RESOLVE(device_total_mem, cuDeviceTotalMem);
  BATCHCAST_RESOLVE(device_get_attribute, cuDeviceGetAttribute);
  BATCHCAST_RESOLVE(device_primary_ctx_retain, cuDevicePrimaryCtxRetain);
  BATCHCAST_RESOLVE(device_primary_ctx_release, cuDevicePrimaryCtxRelease);
  BATCHCAST_RESOLVE(ctx_push_current, cuCtxPushCurrent);
  BATCHCAST_RESOLVE(ctx_pop_current, cuCtxPopCurrent);
  BATCHCAST_RESOLVE(ctx_get_current, cuCtxGetCurrent);
}

void resolve_memory(Resolver& resolver, Driver& driver) {
  BATCHCAST_RESOLVE(mem_get_info, cuMemGetInfo);
  BATCHCAST_RESOLVE(mem_alloc, cuMemAlloc);
  BATCHCAST_RESOLVE(mem_free, cuMemFree);
  BATCHCAST_RESOLVE(mem_get_allocation_granularity, cuMemGetAllocationGranularity);
  BATCHCAST_RESOLVE(mem_create, cuMemCreate);
  BATCHCAST_RESOLVE(mem_release, cuMemRelease);
  BATCHCAST_RESOLVE(mem_export_to_shareable_handle, cuMemExportToShareableHandle);
  BATCHCAST_RESOLVE(mem_import_from_shareable_handle, cuMemImportFromShareableHandle);
  BATCHCAST_RESOLVE(mem_address_reserve, cuMemAddressReserve);
  BATCHCAST_RESOLVE(mem_address_free, cuMemAddressFree);
  BATCHCAST_RESOLVE(mem_map, cuMemMap);
  BATCHCAST_RESOLVE(mem_unmap, cuMemUnmap);
  BATCHCAST_RESOLVE(mem_set_access, cuMemSetAccess);
  BATCHCAST_RESOLVE(ipc_get_mem_handle, cuIpcGetMemHandle);
  BATCHCAST_RESOLVE(ipc_open_mem_handle, cuIpcOpenMemHandle);
  BATCHCAST_RESOLVE(ipc_close_mem_handle, cuIpcCloseMemHandle);
  BATCHCAST_RESOLVE(pointer_get_attribute, cuPointerGetAttribute);
  BATCHCAST_RESOLVE(mem_host_register, cuMemHostRegister);
  BATCHCAST_RESOLVE(mem_host_unregister, cuMemHostUnregister);
  BATCHCAST_RESOLVE(mem_host_alloc, cuMemHostAlloc);
  BATCHCAST_RESOLVE(mem_free_host, cuMemFreeHost);
}

void resolve_work(Resolver& resolver, Driver& driver) {
  BATCHCAST_RESOLVE(memcpy_htod_async, cuMemcpyHtoDAsync);
  BATCHCAST_RESOLVE(memcpy_dtoh_async, cuMemcpyDtoHAsync);
  BATCHCAST_RESOLVE(memcpy_dtod_async, cuMemcpyDtoDAsync);
  BATCHCAST_RESOLVE(memcpy_2d_async, cuMemcpy2DAsync);
  BATCHCAST_RESOLVE(memcpy_dtoh, cuMemcpyDtoH);
  BATCHCAST_RESOLVE(stream_create, cuStreamCreate);
  BATCHCAST_RESOLVE(stream_destroy, cuStreamDestroy);
  BATCHCAST_RESOLVE(stream_synchronize, cuStreamSynchronize);
  BATCHCAST_RESOLVE(stream_query, cuStreamQuery);
  BATCHCAST_RESOLVE(stream_wait_event, cuStreamWaitEvent);
  BATCHCAST_RESOLVE(stream_get_ctx, cuStreamGetCtx);
  BATCHCAST_RESOLVE(thread_exchange_stream_capture_mode, cuThreadExchangeStreamCaptureMode);
  BATCHCAST_RESOLVE(event_create, cuEventCreate);
  BATCHCAST_RESOLVE(event_record, cuEventRecord);
  BATCHCAST_RESOLVE(event_query, cuEventQuery);
  BATCHCAST_RESOLVE(event_synchronize, cuEventSynchronize);
  BATCHCAST_RESOLVE(event_destroy, cuEventDestroy);
  BATCHCAST_RESOLVE(module_load_data, cuModuleLoadData);
  BATCHCAST_RESOLVE(module_unload, cuModuleUnload);
  BATCHCAST_RESOLVE(module_get_function, cuModuleGetFunction);
  BATCHCAST_RESOLVE(launch_kernel, cuLaunchKernel);
}

struct Loaded {
  std::optional<Driver> driver;
  std::string why_not;
  int version = 0;
};

std::string why_init_failed(const Driver& driver, CUresult result) {
  std::string why = "the NVIDIA driver cannot be used, cuInit: " + reason(driver, result);
  if (result == CUDA_ERROR_NO_DEVICE) {
    why +=
        "; it shows this process no GPU: see nvidia-smi, and CUDA_VISIBLE_DEVICES or the "
        "container's --gpus";
  } else if (result == CUDA_ERROR_SYSTEM_DRIVER_MISMATCH) {
    why += "; libcuda.so.1 and the kernel's module are of different versions";
  } else if (result == CUDA_ERROR_STUB_LIBRARY) {
    why += "; the toolkit's stub was found first: take its folder out of LD_LIBRARY_PATH";
  }
  return why;
}

Loaded load() {
  Loaded loaded;
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* detail = dlerror();
    loaded.why_not =
        std::string("no NVIDIA driver: ") + (detail != nullptr ? detail : "libcuda.so.1") +
        "; where there is a GPU, install its driver, or start the container with --gpus all";
    return loaded;
  }
  Driver driver{};
  Resolver resolver(library);
  resolve_basics(resolver, driver);
  resolve_memory(resolver, driver);
  resolve_work(resolver, driver);
  if (driver.driver_get_version != nullptr) driver.driver_get_version(&loaded.version);
  if (resolver.missing() != nullptr) {
    loaded.why_not = std::string("the NVIDIA driver is too old: it lacks ") + resolver.missing() +
                     "; 470 (CUDA 11.4) or a newer one is needed";
    return loaded;
  }
  driver.version = loaded.version;
  driver.process = getpid();
  const CUresult result = driver.init(0);
  if (result != CUDA_SUCCESS) {
    loaded.why_not = why_init_failed(driver, result);
    return loaded;
  }
  loaded.driver = driver;
  return loaded;
}

// Never destroyed: what uses the driver may be destroyed later than anything.
const Loaded& loaded() {
  static const Loaded& once = *new Loaded(load());
  return once;
}

const std::string forked_text =
    "CUDA cannot be used in a process that was forked from one that has used it: start this one "
    "with exec or spawn, or fork before the first use";

}  // namespace

bool Driver::of_this_process() const noexcept { return getpid() == process; }

const Driver* find_driver() {
  const Loaded& found = loaded();
  return found.driver && found.driver->of_this_process() ? &*found.driver : nullptr;
}

const Driver& need_driver() {
  const Loaded& found = loaded();
  if (!found.driver) throw GpuUnavailable("batchcast: " + found.why_not);
  if (!found.driver->of_this_process()) throw Forked(forked_text);
  return *found.driver;
}

std::string why_no_driver() {
  const Loaded& found = loaded();
  return found.driver && !found.driver->of_this_process() ? forked_text : found.why_not;
}

int driver_version() noexcept { return loaded().version; }

std::string reason(const Driver& driver, CUresult result) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (driver.get_error_name(result, &name) != CUDA_SUCCESS || name == nullptr) {
    return "error " + std::to_string(static_cast<int>(result));
  }
  if (driver.get_error_string(result, &text) != CUDA_SUCCESS || text == nullptr) return name;
  return std::string(name) + " (" + text + ")";
}

void fail(const Driver& driver, CUresult result, const char* call, const std::string& what,
          const std::string& cure) {
  if (!driver.of_this_process()) throw Forked(std::string(call) + ": " + forked_text);
  throw GpuError("batchcast: " + std::string(call) + " failed on " + what + ": " +
                 reason(driver, result) + (cure.empty() ? "" : "; " + cure));
}

std::string name_of(const DeviceInfo& device) {
  return "cuda:" + std::to_string(device.number) + " (" + device.name + ")";
}

}  // namespace batchcast::cuda
