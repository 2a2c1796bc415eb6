// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "catch.hpp"
#include "cuda/finish_kernel.hpp"
#include "data/pipeline/pipeline_support.hpp"

#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

// Pipelines of small images, to be finished on a GPU.
namespace batchcast::test {

/// Fields `label` and `image`; samples of `shape`, [height, width, channels], and noise.
inline PipelineOptions images(std::uint64_t samples, std::vector<std::int64_t> shape,
                              const std::string& stages) {
  PipelineOptions options;
  PartSpec image{"image", PartKind::tensor, DType::u8, std::move(shape)};
  image.channels_last = true;
  options.source = std::make_shared<FakeSource>(
      samples, std::vector<PartSpec>{{"label", PartKind::tensor, DType::i64, {}}, image},
      [](std::uint64_t id, std::size_t, std::span<std::byte> out) {
        std::minstd_rand random(static_cast<unsigned>(id) + 1);
        for (std::byte& byte : out) byte = static_cast<std::byte>(random() >> 11);
      });
  options.recipe =
      recipe("[[field]]\nname = \"label\"\n[[field]]\nname = \"image\"\nstages = [" + stages + "]");
  options.seed = 11;
  options.read_ahead_threads = 0;
  return options;
}

inline std::string to_stage(const std::string& dtype, bool planar) {
  return "{ stage = \"to\", dtype = \"" + dtype + "\", layout = \"" + (planar ? "chw" : "hwc") +
         "\" }, ";
}

/// False where the library was built without kernels: there is nothing to be tested then.
inline bool has_kernel() {
  if (!detail::cuda::finish_kernel_image().empty()) return true;
  WARN("built without CUDA kernels");
  return false;
}

}  // namespace batchcast::test
