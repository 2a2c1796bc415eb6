// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/finish_stage.hpp>

#include <batchcast/core/error.hpp>

namespace batchcast {

FinishOnGpu finish_on_gpu(PipelineOptions /*options*/) {
  throw GpuUnavailable(
      "batchcast: images cannot be finished on a GPU: this library was built without CUDA. Build "
      "it where cuda.h is, or let the CPU do it.");
}

}  // namespace batchcast
