// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/cache/memory_store.hpp"
#include "data/cache/sample_store.hpp"
#include "data/codec/jpeg/kept_writer.hpp"

#include <batchcast/data/cache_options.hpp>
#include <batchcast/data/source.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// Which parts of a source's samples a cache is for.
struct CachedPart {
  bool is_kept = false;         ///< images whose pixels are taken
  bool is_fast = false;         ///< images that `fast` decoding may scale down
  std::int64_t pixels_max = 0;  ///< larger ones are refused anyway
};

/// The CPU time of samples of one kind, of which some are measured.
class CpuTimes {
 public:
  void add(std::uint64_t ns) noexcept {
    ns_.fetch_add(ns, std::memory_order_relaxed);
    count_.fetch_add(1, std::memory_order_relaxed);
  }
  /// 0 where none was measured.
  [[nodiscard]] double mean_ns() const noexcept {
    const std::uint64_t count = count_.load(std::memory_order_relaxed);
    return count == 0 ? 0
                      : static_cast<double>(ns_.load(std::memory_order_relaxed)) /
                            static_cast<double>(count);
  }

 private:
  std::atomic<std::uint64_t> ns_{0};
  std::atomic<std::uint64_t> count_{0};
};

/// A pipeline's cache: what is kept, what is not worth a second try, and how it does. Any thread
/// may call any member.
class SampleCache {
 public:
  SampleCache(const CacheOptions& options, std::vector<CachedPart> parts);

  [[nodiscard]] const std::vector<CachedPart>& parts() const noexcept { return parts_; }
  [[nodiscard]] bool find(const PartKey& key, std::size_t part, SampleParts& parts) {
    return store_->find(key.id, part, parts);
  }
  /// Whether an entry is to be made of the part with that key.
  [[nodiscard]] bool wants(const PartKey& key) const;
  void add(const PartKey& key, std::span<const std::byte> entry, std::uint64_t file_bytes) noexcept;
  void note_unclean(const PartKey& key);
  void note_hit() noexcept { hits_.fetch_add(1, std::memory_order_relaxed); }
  void note_miss() noexcept { misses_.fetch_add(1, std::memory_order_relaxed); }
  /// An image that `fast` decoding scaled down. Its entry, if it had one, was of no use.
  void note_passed_by(bool had_entry) noexcept {
    passed_by_.fetch_add(1, std::memory_order_relaxed);
    if (had_entry) hits_.fetch_sub(1, std::memory_order_relaxed);
  }
  void note_damaged() noexcept { damaged_.fetch_add(1, std::memory_order_relaxed); }
  /// Keeps nothing more, and says why.
  void stop(const std::string& why);

  /// What a worker waited for an image without an entry.
  void note_wait(std::uint64_t ns) noexcept;

  [[nodiscard]] CpuTimes& warm() noexcept { return warm_; }
  [[nodiscard]] CpuTimes& cold() noexcept { return cold_; }
  /// Of samples from entries that were just made. It stands for `warm` until there is any.
  [[nodiscard]] CpuTimes& forecast() noexcept { return forecast_; }
  [[nodiscard]] CacheStats stats() const;

 private:
  const CacheOptions options_;
  const std::vector<CachedPart> parts_;
  std::unique_ptr<SampleStore> store_;
  std::atomic<bool> is_full_{false};
  std::atomic<std::uint64_t> kept_{0};
  std::atomic<std::uint64_t> file_bytes_{0};
  std::atomic<std::uint64_t> kept_bytes_{0};
  std::atomic<std::uint64_t> hits_{0};
  std::atomic<std::uint64_t> misses_{0};
  std::atomic<std::uint64_t> passed_by_{0};
  std::atomic<std::uint64_t> damaged_{0};
  CpuTimes warm_;
  CpuTimes cold_;
  CpuTimes forecast_;
  // Some of many threads' waits may be lost.
  std::atomic<std::uint64_t> wait_ns_{0};
  std::atomic<std::uint64_t> least_wait_ns_{0};
  mutable std::mutex mutex_;  // guards the rest
  std::unordered_set<Fingerprint, KeyHash> unclean_;
  std::string stopped_;
};

/// Makes entries of what was read; each thread has one.
class SampleKeeper {
 public:
  explicit SampleKeeper(SampleCache& cache);

  /// Makes entries of the parts that the cache lacks and wants. Unless `from_files`, these parts
  /// are the entries then. It leaves those that `fast` decoding may scale down. Returns whether the
  /// cache lacks a JPEG.
  bool keep(SampleParts& parts, bool from_files);

  /// Makes entries of these, once it is known which parts were scaled down. Such a part has none.
  void keep_unscaled(const SampleParts& parts, std::span<const std::uint8_t> scaled);

 private:
  /// Empty where none is made.
  [[nodiscard]] std::span<const std::byte> entry_of(const SampleParts& parts, std::size_t part);

  SampleCache& cache_;
  std::vector<KeptWriter> writers_;  // by part: entries stay until the next sample
};

}  // namespace batchcast::inline v0_1::detail
