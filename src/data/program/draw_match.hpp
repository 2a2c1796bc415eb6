// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/program/compared_field.hpp"

namespace batchcast::inline v0_1::detail {

/// Throws InvalidArgument where it is not clear which random stages of two fields draw alike.
/// Stages of one group and one name must have the same paths in both, or ids that say which belong
/// together. Returns whether stages that draw alike place pixels by the image's size.
[[nodiscard]] bool match_draws(const ComparedField& a, const ComparedField& b);

}  // namespace batchcast::inline v0_1::detail
