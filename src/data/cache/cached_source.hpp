// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/cache/sample_cache.hpp"

#include <batchcast/data/source.hpp>

#include <memory>

namespace batchcast::inline v0_1::detail {

/// A source whose image parts are entries where the cache has them. Then it doesn't read the bytes,
/// if their key is known without. A part that the cache lacks is marked as missed.
[[nodiscard]] std::shared_ptr<const Source> with_cache(std::shared_ptr<const Source> source,
                                                       std::shared_ptr<SampleCache> cache);

}  // namespace batchcast::inline v0_1::detail
