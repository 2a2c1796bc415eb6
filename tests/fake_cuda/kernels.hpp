// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace batchcast::fake_cuda {

/// How cuLaunchKernel was called.
struct Launch {
  unsigned grid_x = 1, grid_y = 1, grid_z = 1;
  unsigned block_x = 1, block_y = 1, block_z = 1;
  unsigned shared_bytes = 0;
};

/// Where a kernel finds device memory that it was given the address of: where the host can reach
/// it. Throws what ends the launch, and the context, with CUDA_ERROR_ILLEGAL_ADDRESS if not all of
/// it is mapped and may be used so; what may only be read cannot be written through either.
[[nodiscard]] const std::byte* device_read(std::uint64_t device_address, std::size_t bytes);
[[nodiscard]] std::byte* device_write(std::uint64_t device_address, std::size_t bytes);

/// A function that cuModuleGetFunction finds in every module.
struct Kernel {
  const char* name;
  /// Of each parameter, in order: cuLaunchKernel copies them, as the real one does.
  std::span<const std::size_t> parameter_bytes;
  /// Called once a launch, on the stream's thread, for the whole grid. `parameters` point to the
  /// copies.
  void (*run)(const Launch& launch, void* const* parameters);
};

/// All there are: kernel_table.cpp lists them.
[[nodiscard]] std::span<const Kernel* const> kernels();

}  // namespace batchcast::fake_cuda
