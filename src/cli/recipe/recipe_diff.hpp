// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <string>

namespace batchcast::cli {

/// Prints what differs between two of: a preset, a recipe file, `stream:NAME`. Returns the exit
/// code, 0 where nothing does and 1 otherwise. Throws InvalidArgument, StreamNotFound and what else
/// attaching throws.
[[nodiscard]] int print_recipe_diff(const std::string& a, const std::string& b, bool json);

}  // namespace batchcast::cli
