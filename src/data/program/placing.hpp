// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/program/resolve.hpp"

#include <cstdint>
#include <string>
#include <vector>

// What a stage, with all stages inside, does to the places of pixels.
namespace batchcast::inline v0_1::detail {

/// Whether it turns and shears pixels, as policies may; no mask takes that.
[[nodiscard]] bool is_policy(const NamedStage& stage);
[[nodiscard]] bool moves_pixels(const NamedStage& stage);
/// Whether it is for an image of one size only: a flip is the same for any; a crop is not.
[[nodiscard]] bool places_by_size(const NamedStage& stage);
/// Whether it can only be a resize: the whole of an image at another size shows the same place.
[[nodiscard]] bool only_scales(const NamedStage& stage);

enum class OutputSize : std::uint8_t { counts, ignored };

/// Name and parameters, as far as they say which pixels are taken. How pixels are mixed, and what
/// lies beyond the edge, does not count, since masks are often padded with another id. The output
/// size of a random_resized_crop changes nothing before the next stage, and may be `ignored`.
[[nodiscard]] std::string placing_of(const NamedStage& stage, OutputSize size);

struct MovingStage {
  const NamedStage* stage = nullptr;
  std::string placing;  ///< where the output's size counts
};

/// The field's stages that move pixels, in their order.
[[nodiscard]] std::vector<MovingStage> moving_stages(const ResolvedField& field);
/// The moving stages that say which part of the image is shown. Stages at the end that only scale
/// do not, and the output of the last may have any size.
[[nodiscard]] std::vector<MovingStage> placing_stages(const ResolvedField& field);

}  // namespace batchcast::inline v0_1::detail
