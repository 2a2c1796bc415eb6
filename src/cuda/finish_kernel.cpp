// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cuda/finish_kernel.hpp"

#include <batchcast/cuda/driver.hpp>

#include <batchcast/core/assert.hpp>
#include <batchcast/core/error.hpp>

#include <string>

namespace batchcast::inline v0_1::detail::cuda {
namespace {

constexpr const char* about = "the kernel that finishes images";

std::string version_text(int number) {
  return text("CUDA {}.{}", number / 1000, number % 1000 / 10);
}

CUmodule load(const Driver& driver) {
  const std::span<const std::byte> image = finish_kernel_image();
  if (image.empty()) {
    throw GpuUnavailable(
        "batchcast: images cannot be finished on a GPU: this library was built without the kernel "
        "for it. Build it where CUDA's toolkit with nvcc is (CUDA_HOME says where), without "
        "BATCHCAST_CUDA=OFF, or let the CPU do it.");
  }
  CUmodule module = nullptr;
  const CUresult result = driver.module_load_data(&module, image.data());
  if (result == CUDA_ERROR_NO_BINARY_FOR_GPU || result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION ||
      result == CUDA_ERROR_INVALID_PTX || result == CUDA_ERROR_JIT_COMPILER_NOT_FOUND ||
      result == CUDA_ERROR_INVALID_IMAGE) {
    throw GpuUnavailable(
        text("batchcast: images cannot be finished on this GPU: {}. The kernel needs compute "
             "capability 8.0, and on a GPU newer than 9.x a driver as new as the toolkit that "
             "built it: that was {}, and this driver is of {}. Let the CPU do it.",
             reason(driver, result), version_text(finish_kernel_toolkit()),
             version_text(driver.version)));
  }
  if (result != CUDA_SUCCESS) fail(driver, result, "cuModuleLoadData", about);
  return module;
}

}  // namespace

FinishKernel::FinishKernel() : driver_(need_driver()) {
  CUcontext context = nullptr;
  const CUresult current = driver_.ctx_get_current(&context);
  if (current != CUDA_SUCCESS) fail(driver_, current, "cuCtxGetCurrent", about);
  BATCHCAST_ASSERT(context != nullptr);
  context_ = context;
  CUmodule module = load(driver_);
  module_ = module;
  CUfunction function = nullptr;
  const CUresult found = driver_.module_get_function(&function, module, "batchcast_finish");
  if (found != CUDA_SUCCESS) {
    driver_.module_unload(module);
    fail(driver_, found, "cuModuleGetFunction", about);
  }
  function_ = function;
}

FinishKernel::~FinishKernel() {
  // In a forked child the driver is dead. At the process's exit, or with a lost device, the calls
  // fail, and the module is gone with its context.
  if (!driver_.of_this_process()) return;
  const OutsideCaptures outside(driver_);
  if (driver_.ctx_push_current(static_cast<CUcontext>(context_)) != CUDA_SUCCESS) return;
  driver_.module_unload(static_cast<CUmodule>(module_));
  CUcontext popped = nullptr;
  driver_.ctx_pop_current(&popped);
}

void FinishKernel::enqueue(void* stream, FinishArguments finish) const {
  BATCHCAST_ASSERT(finish.samples != 0 && finish.samples <= FinishArguments::samples_max);
  BATCHCAST_ASSERT(finish.channels == 1 || finish.channels == 3);
  finish.pixels_at_once = pixels_at_once(finish);
  void* parameters[] = {&finish};
  const CUresult result = driver_.launch_kernel(
      static_cast<CUfunction>(function_), FinishGrid::blocks_x(finish), finish.samples, 1,
      FinishGrid::threads, 1, 1, 0, static_cast<CUstream>(stream), parameters, nullptr);
  if (result != CUDA_SUCCESS) fail(driver_, result, "cuLaunchKernel", about);
}

}  // namespace batchcast::inline v0_1::detail::cuda
