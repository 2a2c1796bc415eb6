// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/cuda/driver.hpp>

#include <batchcast/core/bytes_text.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/inline.hpp>

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <type_traits>

namespace batchcast::inline v0_1::detail::cuda {
namespace driver_detail {

inline constexpr char forked_text[] =
    "CUDA cannot be used in a process that was forked from one that has used it: start this one "
    "with exec or spawn, or fork before the first use";

/// The first symbol that the library lacks, or nullptr.
inline const char* resolve(void* library, Driver& driver) noexcept {
  const char* missing = nullptr;
  const auto find = [&](auto& function, const char* symbol) {
    function =
        reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, symbol));
    if (function == nullptr && missing == nullptr) missing = symbol;
  };
#define BATCHCAST_CUDA_FIND(member, symbol, ...) find(driver.member, #symbol);
  BATCHCAST_CUDA_FUNCTIONS(BATCHCAST_CUDA_FIND)
#undef BATCHCAST_CUDA_FIND
  return missing;
}

struct Loaded {
  std::optional<Driver> driver;
  std::string why_not;
  int version = 0;
};

inline std::string why_init_failed(const Driver& driver, CUresult result) {
  std::string why = text("the NVIDIA driver cannot be used, cuInit: {}", reason(driver, result));
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

inline Loaded load() {
  Loaded loaded;
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* detail = dlerror();
    loaded.why_not = text(
        "no NVIDIA driver: {}; where there is a GPU, install its driver, or start the container "
        "with --gpus all",
        detail != nullptr ? detail : "libcuda.so.1");
    return loaded;
  }
  Driver driver;
  const char* const missing = resolve(library, driver);
  if (driver.driver_get_version != nullptr) driver.driver_get_version(&loaded.version);
  if (missing != nullptr) {
    loaded.why_not =
        text("the NVIDIA driver is too old: it lacks {}; 470 (CUDA 11.4) or a newer one is needed",
             missing);
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

// It is never destroyed: objects that use the driver may be destroyed later than any static.
inline const Loaded& loaded() {
  static const Loaded& once = *new Loaded(load());
  return once;
}

}  // namespace driver_detail

BATCHCAST_INLINE bool Driver::of_this_process() const noexcept { return getpid() == process; }

BATCHCAST_INLINE const Driver* find_driver() {
  const driver_detail::Loaded& found = driver_detail::loaded();
  return found.driver && found.driver->of_this_process() ? &*found.driver : nullptr;
}

BATCHCAST_INLINE const Driver& need_driver() {
  const driver_detail::Loaded& found = driver_detail::loaded();
  if (!found.driver) throw GpuUnavailable(text("batchcast: {}", found.why_not));
  if (!found.driver->of_this_process()) throw Forked(driver_detail::forked_text);
  return *found.driver;
}

BATCHCAST_INLINE std::string why_no_driver() {
  const driver_detail::Loaded& found = driver_detail::loaded();
  return found.driver && !found.driver->of_this_process() ? driver_detail::forked_text
                                                          : found.why_not;
}

BATCHCAST_INLINE int driver_version() noexcept { return driver_detail::loaded().version; }

BATCHCAST_INLINE std::string reason(const Driver& driver, CUresult result) {
  const char* name = nullptr;
  const char* message = nullptr;
  if (driver.get_error_name(result, &name) != CUDA_SUCCESS || name == nullptr) {
    return text("error {}", static_cast<int>(result));
  }
  if (driver.get_error_string(result, &message) != CUDA_SUCCESS || message == nullptr) return name;
  return text("{} ({})", name, message);
}

BATCHCAST_INLINE bool is_lost(CUresult result) noexcept {
  constexpr std::array lost = {
      CUDA_ERROR_NOT_INITIALIZED,  // in a forked child
      CUDA_ERROR_DEINITIALIZED,    // at the process's exit
      CUDA_ERROR_DEVICE_UNAVAILABLE,   CUDA_ERROR_ECC_UNCORRECTABLE,
      CUDA_ERROR_NVLINK_UNCORRECTABLE, CUDA_ERROR_CONTAINED,
      CUDA_ERROR_ILLEGAL_ADDRESS,      CUDA_ERROR_LAUNCH_TIMEOUT,
      CUDA_ERROR_CONTEXT_IS_DESTROYED, CUDA_ERROR_ASSERT,
      CUDA_ERROR_HARDWARE_STACK_ERROR, CUDA_ERROR_ILLEGAL_INSTRUCTION,
      CUDA_ERROR_MISALIGNED_ADDRESS,   CUDA_ERROR_INVALID_ADDRESS_SPACE,
      CUDA_ERROR_INVALID_PC,           CUDA_ERROR_LAUNCH_FAILED,
      CUDA_ERROR_TENSOR_MEMORY_LEAK,   CUDA_ERROR_MPS_CLIENT_TERMINATED,
  };
  return std::ranges::find(lost, result) != lost.end();
}

BATCHCAST_INLINE void fail(const Driver& driver, CUresult result, const char* call,
                           const std::string& what, const std::string& cure) {
  if (!driver.of_this_process()) {
    throw Forked(text("{}: {}", call, driver_detail::forked_text));
  }
  throw GpuError(text("batchcast: {} failed on {}: {}{}", call, what, reason(driver, result),
                      cure.empty() ? "" : text("; {}", cure)));
}

BATCHCAST_INLINE void check_memory(const Device& device, CUresult result, const char* call,
                                   const std::string& what, std::uint64_t bytes) {
  if (result != CUDA_ERROR_OUT_OF_MEMORY) {
    check(device, result, call);
    return;
  }
  throw OutOfMemory(
      text("batchcast: {} has no room for {}, {}: {} of its {} are free; give the ring less memory "
           "there, or end what else uses it",
           name_of(device.info()), what, bytes_text(bytes), bytes_text(device.free_bytes()),
           bytes_text(device.info().memory_bytes)));
}

}  // namespace batchcast::inline v0_1::detail::cuda
