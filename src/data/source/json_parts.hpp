// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/data/recipe.hpp>
#include <batchcast/data/source.hpp>

#include <memory>
#include <span>

namespace batchcast::inline v0_1::detail {

/// `source`, and for every field that is `from = "PART:/POINTER"` a part of that name: the number
/// at that JSON pointer (RFC 6901) inside the JSON of PART. The first sample that has one says
/// whether they are integers (i64; true and false too) or not (f64). Where the source's labels are
/// names, texts are labels, and their names the source's class names if it has none of its own; all
/// samples are read for that. Gives `source` itself where no field asks. Throws InvalidArgument for
/// what is no JSON pointer or no part of bytes, and BadDataset where no number or name is there.
[[nodiscard]] std::shared_ptr<const Source> with_json_parts(std::shared_ptr<const Source> source,
                                                            std::span<const FieldRecipe> fields);

}  // namespace batchcast::inline v0_1::detail
