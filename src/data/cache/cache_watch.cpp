// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/cache/cache_watch.hpp"

#include <batchcast/core/bytes_text.hpp>
#include <batchcast/core/text.hpp>

#include <algorithm>

namespace batchcast::inline v0_1::detail {

std::string loss_of(const CacheStats& cache, std::uint64_t left_bytes,
                    std::uint64_t samples_per_epoch) {
  const bool is_measured = cache.saved_us > 0 && cache.wait_us > cache.least_wait_us;
  if (!cache.is_in_memory || !is_measured || cache.kept == 0 || !cache.stopped.empty()) return {};
  const std::uint64_t others = samples_per_epoch - std::min(samples_per_epoch, cache.entries);
  const auto file_bytes = static_cast<double>(cache.file_bytes) / static_cast<double>(cache.kept);
  const double needed = file_bytes * static_cast<double>(others);
  const auto left = static_cast<double>(left_bytes);
  // Without the cache the other files would have room in memory, and with it they do not.
  if (needed <= left || needed > left + static_cast<double>(cache.bytes)) return {};
  const double lost_s = (cache.wait_us - cache.least_wait_us) * static_cast<double>(others) / 1e6;
  const double saved_s = cache.saved_us * static_cast<double>(cache.entries) / 1e6;
  if (lost_s <= saved_s) return {};
  return text(
      "its {} push the other files out of the page cache. To read these again costs {} s "
      "an epoch, and its entries save {} s",
      bytes_text(cache.bytes), static_cast<std::uint64_t>(lost_s + 0.5),
      static_cast<std::uint64_t>(saved_s + 0.5));
}

}  // namespace batchcast::inline v0_1::detail
