// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace batchcast::inline v0_1::detail {

/// The end of a refusal of a stage that is not among `names`. For a name of torchvision's it is our
/// stage for it, otherwise the nearest name, or nothing.
[[nodiscard]] std::string meant_stage(std::string_view wanted, std::span<const std::string> names);

}  // namespace batchcast::inline v0_1::detail
