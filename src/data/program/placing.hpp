// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/program/resolve.hpp"

#include <cstdint>
#include <string>
#include <vector>

// What a stage, with all that it holds, does to the places of pixels.
namespace batchcast::inline v0_1::detail {

/// Whether it turns and shears pixels, as policies may, which no mask takes.
[[nodiscard]] bool is_policy(const NamedStage& stage);
[[nodiscard]] bool moves_pixels(const NamedStage& stage);
/// Whether it is for an image of one size only: a flip is the same for any; a crop is not.
[[nodiscard]] bool places_by_size(const NamedStage& stage);
/// Whether it is surely a resize: the whole of an image at another size shows the same place.
[[nodiscard]] bool only_scales(const NamedStage& stage);

enum class OutputSize : std::uint8_t { counts, ignored };

/// Name and parameters, as far as they say which pixels are taken: not how they are mixed or what
/// lies beyond the edge, since masks are often padded with an id of their own. The size of what a
/// random_resized_crop makes changes nothing before the next stage, and may be `ignored`.
[[nodiscard]] std::string placing_of(const NamedStage& stage, OutputSize size);

struct MovingStage {
  const NamedStage* stage = nullptr;
  std::string placing;  ///< where the output's size counts
};

/// The field's stages that move pixels, in their order.
[[nodiscard]] std::vector<MovingStage> moving_stages(const ResolvedField& field);
/// Those of them that say which place of the image is shown: what only scales at the end does not,
/// and the last one's output may have any size.
[[nodiscard]] std::vector<MovingStage> placing_stages(const ResolvedField& field);

}  // namespace batchcast::inline v0_1::detail
