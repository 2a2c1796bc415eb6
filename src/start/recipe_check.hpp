// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/start_options.hpp>

#include <string_view>

// Whether a running stream is the one that would have been started.
namespace batchcast::inline v0_1::detail {

/// Throws RecipeMismatch, with what differs, unless `recipe_json` (a stream's, from its board) is
/// what `options` ask for: source, recipe, seed, and of the arguments those that change samples.
/// The source is opened only where its path does not say that it is the same data, or where no
/// recipe says which fields it has. Throws InvalidArgument for a recipe or an argument that cannot
/// be.
void check_recipe(std::string_view stream, std::string_view recipe_json,
                  const StartOptions& options);

}  // namespace batchcast::inline v0_1::detail
