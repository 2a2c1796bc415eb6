// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/data/cache_options.hpp>
#include <batchcast/data/source.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace batchcast::inline v0_1::detail {

/// What became of an entry that was to be kept.
enum class Kept : std::uint8_t { added, present, no_room };

struct StoreTotals {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
  std::uint64_t damaged = 0;
};

/// Entries by key, each written once and never replaced. Any thread may call any member.
class SampleStore {
 public:
  SampleStore() = default;
  SampleStore(const SampleStore&) = delete;
  SampleStore& operator=(const SampleStore&) = delete;
  virtual ~SampleStore() = default;

  /// Makes parts[part] the entry of that key, with kept_slack bytes behind it. False where there is
  /// none that can be read whole. The entry is valid as long as the store and `parts` are.
  [[nodiscard]] virtual bool find(const Fingerprint& key, std::size_t part, SampleParts& parts) = 0;
  /// It does not throw. An entry that cannot be kept costs time later.
  [[nodiscard]] virtual Kept add(const Fingerprint& key,
                                 std::span<const std::byte> entry) noexcept = 0;
  [[nodiscard]] virtual StoreTotals totals() const = 0;
  /// Why `add` has no more room; empty as long as it has.
  [[nodiscard]] virtual std::string full() const = 0;
};

}  // namespace batchcast::inline v0_1::detail
