// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/start_options.hpp>

#include <string_view>

// Checks whether a running stream is the one that would have been started.
namespace batchcast::inline v0_1::detail {

/// Throws RecipeMismatch, with what differs, unless `recipe_json` (from a stream's board) is what
/// `options` ask for. Compared are source, recipe, seed, and those arguments that change samples.
/// The source is opened only where its path does not show that the data are the same, or where no
/// recipe names its fields. Throws InvalidArgument for an impossible recipe or argument.
void check_recipe(std::string_view stream, std::string_view recipe_json,
                  const StartOptions& options);

}  // namespace batchcast::inline v0_1::detail
