// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/cache/cache_directory.hpp"
#include "data/cache/memory_store.hpp"
#include "data/cache/sample_store.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// Entries in files of a directory, which several processes of one user share. This one appends to
/// its segment and reads all. An entry is checked whenever it is read.
class DirectoryStore final : public SampleStore {
 public:
  /// Finds what is there. `bytes_max`: of all processes' segments together, as they are in files.
  /// Throws as CacheDirectory does.
  DirectoryStore(const std::string& path, std::uint64_t bytes_max);
  ~DirectoryStore() override;

  [[nodiscard]] bool find(const Fingerprint& key, std::size_t part, SampleParts& parts) override;
  [[nodiscard]] Kept add(const Fingerprint& key,
                         std::span<const std::byte> entry) noexcept override;
  [[nodiscard]] StoreTotals totals() const override;
  [[nodiscard]] std::string full() const override;
  /// Looks for what other processes have added since. `find` does it now and then.
  void refresh();

 private:
  struct Place {
    const Segment* segment = nullptr;
    RecordPlace record;
  };
  struct Shelf {
    std::mutex mutex;
    std::unordered_map<Fingerprint, Place, KeyHash> entries;
    /// Further records of keys that have one: it may turn out to be damaged.
    std::unordered_multimap<Fingerprint, Place, KeyHash> duplicates;
  };

  [[nodiscard]] Shelf& shelf_of(const Fingerprint& key) noexcept {
    return shelves_[key.high % shelves_.size()];
  }
  [[nodiscard]] bool look_up(const Fingerprint& key, Place& place);
  void enter(const Fingerprint& key, const Place& place);
  void leave_out(const Fingerprint& key, const Place& place);
  void refresh_now_and_then();
  // Of those that append; with `writing_`.
  [[nodiscard]] bool make_room(std::uint64_t end);
  [[nodiscard]] bool reserve(std::uint64_t end);
  void stop(std::string why);

  const std::uint64_t bytes_max_;
  CacheDirectory directory_;
  std::array<Shelf, 64> shelves_;
  std::atomic<std::uint64_t> entries_{0};
  std::atomic<std::uint64_t> bytes_{0};
  std::atomic<std::uint64_t> damaged_{0};
  std::atomic<std::uint64_t> refreshed_ns_{0};

  std::mutex reading_;                              // guards what is below
  std::vector<std::unique_ptr<Segment>> segments_;  // of other processes; they stay
  std::unordered_set<std::string> known_;           // their names, and our own

  mutable std::mutex writing_;                 // guards the rest
  std::vector<std::unique_ptr<Segment>> own_;  // the last one is appended to
  std::uint64_t tail_ = 0;
  std::uint64_t reserved_ = 0;
  std::string full_;
};

}  // namespace batchcast::inline v0_1::detail
