// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/data/cache_options.hpp>

#include <cstdint>
#include <string>

namespace batchcast::inline v0_1::detail {

/// Why a cache in memory is to keep nothing more, by what was measured; empty as long as it pays.
/// It does not pay where its entries leave no room for other samples' files in the page cache. To
/// read these again must also cost more in an epoch than the entries save. `left_bytes`: what the
/// system could still give, page cache included.
[[nodiscard]] std::string loss_of(const CacheStats& cache, std::uint64_t left_bytes,
                                  std::uint64_t samples_per_epoch);

}  // namespace batchcast::inline v0_1::detail
