// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace batchcast::inline v0_1::detail {

/// The one of `names` that `wanted` most likely misspells; the first of several that are equally
/// near. Empty where none is near.
[[nodiscard]] std::string nearest_name(std::string_view wanted, std::span<const std::string> names);

/// The end of a refusal: ` Did you mean `name`?`, or nothing.
[[nodiscard]] std::string did_you_mean(std::string_view wanted, std::span<const std::string> names);

}  // namespace batchcast::inline v0_1::detail
