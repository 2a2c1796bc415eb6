// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/resample/resampler.hpp"

#include <batchcast/data/random.hpp>
#include <batchcast/data/recipe.hpp>
#include <batchcast/data/source.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

// The part of a recipe that a GPU can do after the copy. It is the end of an image field, which
// makes its bytes four times as many.
namespace batchcast::inline v0_1::detail {

/// The end of one image field: [horizontal_flip] to [normalize], from u8 pixels with channels last.
struct FieldFinish {
  std::size_t field = 0;  ///< index in the recipe, and in the schema
  /// Mirrors some samples; null where the field does not end so. Its draws depend on its name in
  /// the whole recipe.
  std::shared_ptr<const GeometryStage> flip = nullptr;
  DrawName flip_draws = {};
  /// As the CPU would do it; never u8.
  PixelFormat format;
  ImageSize size;
  std::int32_t channels = 3;  ///< 3 or 1

  /// Whether that sample is mirrored, by the same draw that the CPU would make.
  [[nodiscard]] bool flips(const SampleKey& key) const;
};

struct DeviceSplit {
  /// The recipe for the host, with u8 pixels, channels last, in place of what a GPU finishes.
  /// Stages that stay keep their paths, and so their draws.
  Recipe host;
  std::vector<FieldFinish> finishes;  ///< by field
  /// Image fields that stay whole on the CPU.
  struct Kept {
    std::size_t field = 0;
    std::string reason;
  };
  std::vector<Kept> kept;
};

/// Splits a recipe that compiles with these parts. Throws InvalidArgument for one that does not.
[[nodiscard]] DeviceSplit split_for_device(const Recipe& recipe, std::span<const PartSpec> parts);

}  // namespace batchcast::inline v0_1::detail
