// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/program/field_program.hpp"
#include "data/program/tensor_steps.hpp"
#include "data/resample/resampler.hpp"

#include <optional>
#include <span>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// Geometry that one walk over the pixels does, and then pixel stages and warps over what came out.
struct ImagePass {
  struct Placing {
    const GeometryStage* stage = nullptr;
    DrawName draws;
    bool is_joint = false;
  };
  /// A pixel stage, or else a warp.
  struct Painting {
    const PixelStage* stage = nullptr;
    const WarpStage* warp = nullptr;
    DrawName draws;
  };
  std::vector<Placing> geometry;
  std::vector<Painting> pixels;
};

/// A tensor part as an image.
struct RawImage {
  ImageSize size;
  std::int32_t channels = 1;
  bool channels_last = true;
  bool two_dimensional = false;
};

/// An image field, compiled: passes, then the format, then tensor stages, once for each view.
struct ImagePlan {
  /// Channels that decoding gives.
  [[nodiscard]] std::int32_t decoded_channels() const noexcept {
    return decode->mode == PixelMode::rgb ? 3 : 1;
  }

  std::vector<std::shared_ptr<const Stage>> owners;
  std::optional<DecodeStage::Parameters> decode;  ///< nothing: the part is a RawImage
  RawImage raw;
  bool is_mask = false;
  std::vector<ImagePass> passes;  ///< at least one
  PixelFormat format;
  std::int32_t channels_out = 3;
  std::optional<TensorSteps> steps;  ///< of one view
  std::uint32_t views = 1;
  TensorSpec output;  ///< all views
};

/// Throws InvalidArgument, naming field and stage, where stages do not fit.
[[nodiscard]] ImagePlan plan_image(const ResolvedField& field, const PartSpec& part);

/// A field whose part is an encoded image, or a tensor that its stages treat as one.
[[nodiscard]] std::unique_ptr<FieldProgram> compile_image(const ResolvedField& field,
                                                          const PartSpec& part);

/// That tensor as an image; nothing if it is none: u8, two dimensions or three, one or three
/// channels.
[[nodiscard]] std::optional<RawImage> as_raw_image(const PartSpec& part);

/// Runs plans, which share a decoding where there is more than one; one for each thread.
[[nodiscard]] std::unique_ptr<FieldRunner> image_runner(std::span<const ImagePlan* const> plans);

}  // namespace batchcast::inline v0_1::detail
