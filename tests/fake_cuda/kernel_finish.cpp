// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// The library's own kernel, from the same source as the device's, one thread after the other.
#include "cuda/finish_body.hpp"
#include "kernels.hpp"

#include <batchcast/core/dtype.hpp>

namespace batchcast::fake_cuda {

namespace {

constexpr std::size_t parameter_bytes[] = {sizeof(detail::cuda::FinishArguments)};

std::size_t reach(const detail::cuda::FinishArguments& finish, std::uint64_t stride_bytes,
                  std::size_t element_bytes) {
  const std::uint64_t pixels = std::uint64_t{finish.width} * finish.height;
  return (finish.samples - 1) * stride_bytes + pixels * finish.channels * element_bytes;
}

void run_finish(const Launch& launch, void* const* parameters) {
  auto finish = *static_cast<const detail::cuda::FinishArguments*>(parameters[0]);
  finish.in = reinterpret_cast<const std::uint8_t*>(device_read(
      reinterpret_cast<std::uint64_t>(finish.in), reach(finish, finish.in_stride_bytes, 1)));
  finish.out = reinterpret_cast<std::uint8_t*>(
      device_write(reinterpret_cast<std::uint64_t>(finish.out),
                   reach(finish, finish.out_stride_bytes, size_of(finish.dtype))));
  for (unsigned sample = 0; sample < launch.grid_y; ++sample) {
    for (unsigned group = 0; group < launch.grid_x * launch.block_x; ++group) {
      detail::cuda::finish_thread(finish, group, sample);
    }
  }
}

}  // namespace

extern const Kernel finish_kernel;
const Kernel finish_kernel = {"batchcast_finish", parameter_bytes, run_finish};

}  // namespace batchcast::fake_cuda
