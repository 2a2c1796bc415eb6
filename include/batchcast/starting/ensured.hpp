// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/start.hpp>

#include <string>

namespace batchcast::inline v0_1::detail {

/// What `batchcast ensure` found. One of the two is empty.
struct Ensured {
  std::string recipe_json;  ///< of the stream, and what was asked for
  std::string refusal;      ///< why its producer refuses even an observer
};

/// As ensure_served, but a refusal is a value: the attempt to attach throws it with its type.
[[nodiscard]] Ensured ensure_stream(const StartTarget& target, const StartOptions& options);

}  // namespace batchcast::inline v0_1::detail
