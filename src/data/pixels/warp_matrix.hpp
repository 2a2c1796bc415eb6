// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/pixels/operations.hpp"

// Angles, as Python and PIL compute with them.
namespace batchcast::inline v0_1::detail {

/// Python's degrees % 360.
[[nodiscard]] double within_a_turn(double degrees) noexcept;
/// The angle in degrees whose tangent is the magnitude, as torchvision's policies shear.
[[nodiscard]] double shear_degrees(double magnitude) noexcept;
/// The matrix of Image.rotate, whose angle lies within a turn.
[[nodiscard]] AffineMatrix rotation_matrix(ImageSize size, double degrees,
                                           const std::optional<Point>& center) noexcept;

}  // namespace batchcast::inline v0_1::detail
