// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/cache/sample_cache.hpp"

#include "data/cache/directory_store.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <optional>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace {

// A file system's clock is coarse, and a file that is just being written may change within a tick.
constexpr std::int64_t settled_ns = 2'000'000'000;

std::int64_t wall_ns() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::unique_ptr<SampleStore> open_store(const CacheOptions& options) {
  if (options.directory.empty()) return std::make_unique<MemoryStore>(options.bytes);
  return std::make_unique<DirectoryStore>(options.directory, options.bytes);
}

bool is_jpeg(std::span<const std::byte> bytes) noexcept {
  return bytes.size() > 2 && bytes[0] == std::byte{0xFF} && bytes[1] == std::byte{0xD8};
}

}  // namespace

SampleCache::SampleCache(const CacheOptions& options, std::vector<CachedPart> parts)
    : options_(options), parts_(std::move(parts)), store_(open_store(options)) {}

bool SampleCache::wants(const PartKey& key) const {
  if (is_full_.load(std::memory_order_relaxed)) return false;
  if (key.changed_ns != 0 && wall_ns() - key.changed_ns < settled_ns) return false;
  const std::lock_guard lock(mutex_);
  return !unclean_.contains(key.id);
}

void SampleCache::add(const PartKey& key, std::span<const std::byte> entry,
                      std::uint64_t file_bytes) noexcept {
  switch (store_->add(key.id, entry)) {
    case Kept::added:
      kept_.fetch_add(1, std::memory_order_relaxed);
      kept_bytes_.fetch_add(entry.size(), std::memory_order_relaxed);
      file_bytes_.fetch_add(file_bytes, std::memory_order_relaxed);
      break;
    case Kept::present:
      break;
    case Kept::no_room:
      is_full_ = true;
      break;
  }
}

void SampleCache::note_unclean(const PartKey& key) {
  const std::lock_guard lock(mutex_);
  unclean_.insert(key.id);
}

void SampleCache::note_wait(std::uint64_t ns) noexcept {
  constexpr std::uint64_t weight = 64;  // of the past
  const std::uint64_t before = wait_ns_.load(std::memory_order_relaxed);
  const std::uint64_t now = before == 0 ? ns : before + ns / weight - before / weight;
  wait_ns_.store(now, std::memory_order_relaxed);
  const std::uint64_t least = least_wait_ns_.load(std::memory_order_relaxed);
  if (least == 0 || now < least) least_wait_ns_.store(now, std::memory_order_relaxed);
}

void SampleCache::stop(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (stopped_.empty()) stopped_ = why;
  is_full_ = true;
}

CacheStats SampleCache::stats() const {
  const StoreTotals totals = store_->totals();
  CacheStats stats;
  stats.exists = true;
  stats.bytes_max = options_.bytes;
  stats.bytes = totals.bytes;
  stats.entries = totals.entries;
  stats.file_bytes = file_bytes_.load(std::memory_order_relaxed);
  stats.kept_bytes = kept_bytes_.load(std::memory_order_relaxed);
  stats.kept = kept_.load(std::memory_order_relaxed);
  stats.hits = hits_.load(std::memory_order_relaxed);
  stats.misses = misses_.load(std::memory_order_relaxed);
  stats.passed_by = passed_by_.load(std::memory_order_relaxed);
  stats.damaged = totals.damaged + damaged_.load(std::memory_order_relaxed);
  const double measured_ns = warm_.mean_ns();
  const double warm_ns = measured_ns > 0 ? measured_ns : forecast_.mean_ns();
  const double cold_ns = cold_.mean_ns();
  if (warm_ns > 0 && cold_ns > warm_ns) {
    stats.saved_us = (cold_ns - warm_ns) / 1e3;
    stats.cpu_seconds_saved = static_cast<double>(stats.hits) * stats.saved_us / 1e6;
  }
  stats.wait_us = static_cast<double>(wait_ns_.load(std::memory_order_relaxed)) / 1e3;
  stats.least_wait_us = static_cast<double>(least_wait_ns_.load(std::memory_order_relaxed)) / 1e3;
  stats.is_in_memory = options_.directory.empty();
  const std::string full = store_->full();
  const std::lock_guard lock(mutex_);
  stats.unclean = unclean_.size();
  stats.stopped = stopped_.empty() ? full : stopped_;
  return stats;
}

SampleKeeper::SampleKeeper(SampleCache& cache) : cache_(cache), writers_(cache.parts().size()) {}

bool SampleKeeper::keep(SampleParts& parts, bool from_files) {
  bool has_missed = false;
  for (std::size_t part = 0; part < writers_.size(); ++part) {
    if (parts.missed(part) == nullptr || !is_jpeg(parts[part])) continue;
    has_missed = true;
    if (cache_.parts()[part].is_fast) continue;
    cache_.note_miss();
    const std::span<const std::byte> entry = entry_of(parts, part);
    if (!entry.empty() && !from_files) parts.set_kept(part, entry);
  }
  return has_missed;
}

void SampleKeeper::keep_unscaled(const SampleParts& parts, std::span<const std::uint8_t> scaled) {
  for (std::size_t part = 0; part < writers_.size(); ++part) {
    const bool is_missed = parts.missed(part) != nullptr && is_jpeg(parts[part]);
    if (!is_missed || !cache_.parts()[part].is_fast) continue;
    if (scaled[part] != 0) {
      cache_.note_passed_by(false);
      continue;
    }
    cache_.note_miss();
    static_cast<void>(entry_of(parts, part));
  }
}

std::span<const std::byte> SampleKeeper::entry_of(const SampleParts& parts, std::size_t part) {
  const PartKey& key = *parts.missed(part);
  if (!cache_.wants(key)) return {};
  std::span<const std::byte> entry;
  try {
    entry = writers_[part].write(parts[part], cache_.parts()[part].pixels_max);
  } catch (const std::bad_alloc&) {
    cache_.stop("there is no more memory for it");
    return {};
  }
  if (entry.empty()) {
    cache_.note_unclean(key);
  } else {
    cache_.add(key, entry, parts[part].size());
  }
  return entry;
}

}  // namespace batchcast::inline v0_1::detail
