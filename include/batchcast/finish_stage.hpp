// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/language.hpp>

#include <batchcast/data/pipeline.hpp>
#include <batchcast/device_stage.hpp>

#include <memory>
#include <string>
#include <vector>

namespace batchcast::inline v0_1 {

/// A pipeline divided between the CPU and GPUs. The last steps of an image field (horizontal_flip,
/// to f32, f16 or bf16, normalize), which make it larger, run in a stage on each GPU. Trainers
/// there get the same bytes as from the whole recipe, and its identity. Trainers in host memory get
/// u8 pixels, [height, width, channels], not mirrored.
struct FinishOnGpu {
  struct Field {
    std::string name;
    std::string why_not;  ///< why it is not finished on the GPU; empty where it is
  };
  /// For the pipeline that fills the host ring.
  PipelineOptions host;
  /// For ProducerOptions::device_stage.
  std::shared_ptr<const DeviceStage> stage;
  /// The image fields. All others are copied as they are.
  std::vector<Field> fields;
};

/// Divides the pipeline that Pipeline(options) would make. Throws InvalidArgument where that would,
/// and where no field can be finished on a GPU. Producers then throw GpuUnavailable where the
/// library was built without CUDA kernels.
[[nodiscard]] FinishOnGpu finish_on_gpu(PipelineOptions options);

}  // namespace batchcast::inline v0_1
