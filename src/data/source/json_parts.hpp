// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/data/recipe.hpp>
#include <batchcast/data/source.hpp>

#include <memory>
#include <span>

namespace batchcast::inline v0_1::detail {

/// `source`, with a further part for every field that is `from = "PART:/POINTER"`. That part is the
/// number at the JSON pointer (RFC 6901) inside the JSON of PART. The first sample that has one
/// says whether they are integers (i64; also true and false) or not (f64). An array of them, or of
/// such arrays, is a tensor of the first sample's shape. Where a field begins with `multi_hot`, it
/// may have any length, and the part is the bytes of its i64. Where the source's
/// labels are names, texts are labels. If the source has no class names, the texts become these,
/// and all samples are read for that. Gives `source` itself where no field asks. Throws
/// InvalidArgument for a bad JSON pointer or a part that is not bytes, and BadDataset where no
/// number or name is there.
[[nodiscard]] std::shared_ptr<const Source> with_json_parts(std::shared_ptr<const Source> source,
                                                            std::span<const FieldRecipe> fields);

}  // namespace batchcast::inline v0_1::detail
