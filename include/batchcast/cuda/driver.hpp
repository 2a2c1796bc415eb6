// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/cuda/device.hpp>
#include <batchcast/cuda/driver_api.hpp>

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace batchcast::inline v0_1::detail::cuda {

/// The functions of libcuda.so.1 that driver_api.hpp lists. A process has one table and never
/// unloads the library: other libraries of the process use the same driver.
struct Driver {
  int version = 0;    ///< 13000 for CUDA 13.0
  pid_t process = 0;  ///< the one that called cuInit; the driver is dead in its forked children

#define BATCHCAST_CUDA_MEMBER(member, symbol, ...) CUresult (*member)(__VA_ARGS__) = nullptr;
  BATCHCAST_CUDA_FUNCTIONS(BATCHCAST_CUDA_MEMBER)
#undef BATCHCAST_CUDA_MEMBER

  /// False in a process that was forked from the one that called cuInit.
  [[nodiscard]] bool of_this_process() const noexcept;
};

/// The process's driver. The first call loads and initialises it. Null where there is none:
/// why_no_driver() says why.
[[nodiscard]] const Driver* find_driver();
/// Throws GpuUnavailable where there is none, Forked in a forked child of a process that has one.
[[nodiscard]] const Driver& need_driver();

/// "CUDA_ERROR_OUT_OF_MEMORY (out of memory)".
[[nodiscard]] std::string reason(const Driver& driver, CUresult result);

/// Whether the process has lost the context, or all of the driver. Then nothing that is enqueued
/// there will run, and every further call says the same. It is false for an invalid context, which
/// may mean that a stream belongs to another one.
[[nodiscard]] bool is_lost(CUresult result) noexcept;
/// Whether a graph that is being captured, or was captured, prevented the call.
[[nodiscard]] inline bool is_of_capture(CUresult result) noexcept {
  return result >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED &&
         result <= CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
}

/// Throws GpuError, which names the call, what it was about (`what`, mostly a device), the reason
/// and the remedy. Throws Forked in a forked child, where every call fails.
[[noreturn]] void fail(const Driver& driver, CUresult result, const char* call,
                       const std::string& what, const std::string& cure = {});
inline void check(const Driver& driver, CUresult result, const char* call,
                  const DeviceInfo& device) {
  if (result != CUDA_SUCCESS) fail(driver, result, call, name_of(device));
}
inline void check(const Device& device, CUresult result, const char* call) {
  check(device.driver(), result, call, device.info());
}

/// Like `check`, for memory: throws OutOfMemory, with what is free, where there is no room for the
/// `bytes` of `what`.
void check_memory(const Device& device, CUresult result, const char* call, const std::string& what,
                  std::uint64_t bytes);

/// What cuMemCreate has to make for a device ring: memory of that device (CUdevice) that can be
/// exported as a file descriptor.
[[nodiscard]] inline CUmemAllocationProp exportable_memory(CUdevice device) noexcept {
  CUmemAllocationProp wanted{};
  wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  wanted.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  wanted.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  wanted.location.id = device;
  return wanted;
}

/// What `call` returns, made with the device's context current and outside captures. Otherwise what
/// prevented the call: a forked child, a driver that is gone already (at the process's exit), a
/// lost device.
template <class Call>
CUresult try_call(const Device& device, Call&& call) noexcept {
  const Driver& driver = device.driver();
  if (!driver.of_this_process()) return CUDA_ERROR_NOT_INITIALIZED;
  const OutsideCaptures outside(driver);
  const CUresult pushed = driver.ctx_push_current(static_cast<CUcontext>(device.context()));
  if (pushed != CUDA_SUCCESS) return pushed;
  const CUresult result = std::forward<Call>(call)(driver);
  CUcontext popped = nullptr;
  driver.ctx_pop_current(&popped);
  return result;
}

/// The same for destructors, which cannot report errors.
template <class Undo>
void quietly(const Device& device, Undo&& undo) noexcept {
  static_cast<void>(try_call(device, [&](const Driver& driver) {
    std::forward<Undo>(undo)(driver);
    return CUDA_SUCCESS;
  }));
}

/// The address as CUDA's type.
[[nodiscard]] inline CUdeviceptr address_of(const std::byte* data) noexcept {
  return reinterpret_cast<CUdeviceptr>(data);
}

}  // namespace batchcast::inline v0_1::detail::cuda
