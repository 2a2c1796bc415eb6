// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "cuda/finish_arguments.hpp"

#include <cstddef>
#include <span>

namespace batchcast::inline v0_1::detail::cuda {

struct Driver;

/// The kernel's machine code for all GPUs that we support, as nvcc made it when this library was
/// built. Empty where there was no nvcc, or BATCHCAST_CUDA was OFF.
[[nodiscard]] std::span<const std::byte> finish_kernel_image() noexcept;

/// The version of the toolkit that made it, 13000 for CUDA 13.0; 0 without it.
[[nodiscard]] int finish_kernel_toolkit() noexcept;

/// The kernel `batchcast_finish` in one GPU's context, which must outlive it. One thread at a time.
class FinishKernel {
 public:
  /// Loads it into the context that is current. Throws GpuUnavailable where the library was built
  /// without the kernel or the GPU is too old, GpuError.
  FinishKernel();
  ~FinishKernel();
  FinishKernel(const FinishKernel&) = delete;
  FinishKernel& operator=(const FinishKernel&) = delete;

  /// Launches it on `stream` (CUstream) of that context, which must be current. The caller sets all
  /// arguments but `pixels_at_once`. Throws GpuError.
  void enqueue(void* stream, FinishArguments finish) const;

 private:
  const Driver& driver_;
  void* context_ = nullptr;
  void* module_ = nullptr;
  void* function_ = nullptr;
};

}  // namespace batchcast::inline v0_1::detail::cuda
