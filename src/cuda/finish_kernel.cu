// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cuda/finish_body.hpp"

// Neighbouring threads take neighbouring pixels of one sample, so a warp reads and writes whole
// lines. The arguments stay in constant memory, where a whole block looks up one bit of the mask.
extern "C" __global__ void __launch_bounds__(batchcast::detail::cuda::FinishGrid::threads)
    batchcast_finish(const __grid_constant__ batchcast::detail::cuda::FinishArguments finish) {
  batchcast::detail::cuda::finish_thread(finish, blockIdx.x * blockDim.x + threadIdx.x, blockIdx.y);
}
