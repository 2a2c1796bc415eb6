// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "cli/output.hpp"
#include "serving/cache_report.hpp"

namespace batchcast::cli {

/// Null where there is no cache.
[[nodiscard]] inline auto json_of(const CacheStats& cache) {
  return nlohmann::json::parse(serving::cache_json(cache));
}

}  // namespace batchcast::cli
