// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/program/resolve.hpp"

#include <batchcast/data/geometry.hpp>

#include <optional>
#include <span>
#include <string>

namespace batchcast::inline v0_1::detail {

/// A stage that some draws before it let fail, and others do not.
struct LaterFailure {
  std::string path;    ///< the stage's
  std::string reason;  ///< with the sizes that the draws may give
};

/// Follows an image of that size through the stages, with all sizes that their draws may make of
/// it. Returns the first stage that takes some of these sizes and refuses others. Sizes that a
/// stage does not know end the search. What every draw lets fail is not looked for: the first epoch
/// shows it.
[[nodiscard]] std::optional<LaterFailure> later_failure(std::span<const NamedStage> stages,
                                                        ImageSize size);

}  // namespace batchcast::inline v0_1::detail
