// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/language.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace batchcast::inline v0_1 {

/// Where a pipeline keeps what entropy decoding of JPEGs gave, for the next epochs (docs/cache.md).
/// Samples have the same bytes with and without.
struct CacheOptions {
  std::uint64_t bytes = 0;     ///< at most; 0: no cache
  std::string directory = {};  ///< on a local disk; empty: in this process's memory

  /// Reads `8GiB` or `8GiB:DIR`. Throws InvalidArgument.
  [[nodiscard]] static CacheOptions parse(std::string_view text);
  [[nodiscard]] std::string to_text() const;

  friend bool operator==(const CacheOptions&, const CacheOptions&) = default;
};

/// How a cache does. Times are estimates, from some of the samples.
struct CacheStats {
  bool exists = false;
  std::uint64_t bytes_max = 0;
  std::uint64_t bytes = 0;       ///< of all entries
  std::uint64_t entries = 0;     ///< that there are
  std::uint64_t images = 0;      ///< of an epoch, that it is for
  std::uint64_t file_bytes = 0;  ///< of the JPEGs that this process made entries of
  std::uint64_t kept_bytes = 0;  ///< of those entries
  std::uint64_t kept = 0;        ///< entries that this process made
  std::uint64_t hits = 0;        ///< images that were made from an entry
  std::uint64_t misses = 0;      ///< images of JPEGs that were not, for which a cache is
  std::uint64_t unclean = 0;     ///< JPEGs that are not kept: damaged, or of an unusual kind
  std::uint64_t passed_by = 0;   ///< images that `fast` decoding scaled down, which use no entries
  std::uint64_t damaged = 0;     ///< entries that were refused, and their images made from files
  double cpu_seconds_saved = 0;
  double saved_us = 0;  ///< of processor time, by each image that is made from an entry
  /// What a worker lately waited to read an image that has no entry, and the least that it did.
  double wait_us = 0;
  double least_wait_us = 0;
  bool is_in_memory = false;
  /// Why nothing more is kept; empty as long as there is room.
  std::string stopped = {};

  /// Of an epoch's images, those that have an entry; from 0 to 1. Entries of other streams in its
  /// directory count, too.
  [[nodiscard]] double share_kept() const noexcept {
    if (images == 0) return 0;
    return entries >= images ? 1 : static_cast<double>(entries) / static_cast<double>(images);
  }
  /// Of the JPEGs that it met, those that have an entry; from 0 to 1.
  [[nodiscard]] double share_of_hits() const noexcept {
    const auto all = static_cast<double>(hits + misses);
    return all > 0 ? static_cast<double>(hits) / all : 0;
  }
};

}  // namespace batchcast::inline v0_1
