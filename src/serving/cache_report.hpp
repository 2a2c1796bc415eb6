// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/data/cache_options.hpp>

#include <string>
#include <string_view>

// What a process that serves says of its cache.
namespace batchcast::inline v0_1::serving {

/// For the line of progress: `  cache 41% of 1.20 GiB`; empty where there is none.
[[nodiscard]] std::string cache_note(const CacheStats& cache);
/// A line for the report at the end; empty where there is none.
[[nodiscard]] std::string cache_report(const CacheStats& cache);
/// A JSON object; `null` where there is none.
[[nodiscard]] std::string cache_json(const CacheStats& cache);
/// What cache_json() gave. A member that is missing or of another kind stays as it is in
/// CacheStats.
[[nodiscard]] CacheStats cache_from_json(std::string_view text);

}  // namespace batchcast::inline v0_1::serving
