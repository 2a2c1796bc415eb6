// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "serving/dataset.hpp"

#include <batchcast/data/source.hpp>

#include <cstdint>
#include <memory>

namespace batchcast::cli {

/// What a cache would take and give, by some samples of a dataset.
struct CacheForecast {
  std::uint64_t samples = 0;  ///< that were tried
  std::uint64_t images = 0;   ///< JPEGs among their images
  std::uint64_t kept = 0;
  std::uint64_t unclean = 0;
  std::uint64_t passed_by = 0;
  double size_ratio = 0;  ///< of entries to their files; 0 where none was made
  double bytes = 0;       ///< of a cache for all samples
  // Samples a second of one worker, with a recipe; else 0.
  double from_files = 0;
  double while_filling = 0;
  double from_entries = 0;
};

/// Makes samples spread over an epoch, for some seconds. Those that are bad do not count.
[[nodiscard]] CacheForecast forecast_cache(const serving::DatasetOptions& options);

}  // namespace batchcast::cli
