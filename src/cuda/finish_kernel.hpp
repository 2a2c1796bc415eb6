// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "cuda/finish_arguments.hpp"

#include <cstddef>
#include <span>

namespace batchcast::inline v0_1::detail::cuda {

struct Driver;

/// The kernel's machine code for all GPUs that there is some for, as nvcc made it when this library
/// was built; empty where there was no nvcc, or BATCHCAST_CUDA was OFF.
[[nodiscard]] std::span<const std::byte> finish_kernel_image() noexcept;

/// The version of the toolkit that made it, 13000 for CUDA 13.0; 0 without it.
[[nodiscard]] int finish_kernel_toolkit() noexcept;

/// The kernel `batchcast_finish`, loaded into one GPU's context, which must outlive it. One thread
/// at a time.
class FinishKernel {
 public:
  /// Into the context that is current. Throws GpuUnavailable where the library was built without
  /// the kernel or the GPU is too old, GpuError.
  FinishKernel();
  ~FinishKernel();
  FinishKernel(const FinishKernel&) = delete;
  FinishKernel& operator=(const FinishKernel&) = delete;

  /// On `stream` (CUstream) of that context, which must be current. All arguments but
  /// `pixels_at_once` are the caller's. Throws GpuError.
  void enqueue(void* stream, FinishArguments finish) const;

 private:
  const Driver& driver_;
  void* context_ = nullptr;
  void* module_ = nullptr;
  void* function_ = nullptr;
};

}  // namespace batchcast::inline v0_1::detail::cuda
