// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/layout.hpp>
#include <batchcast/ring/receipt.hpp>

#include <cstdint>
#include <span>
#include <string>

namespace batchcast::inline v0_1 {

/// A consumer's receipt of one epoch, compared with the producer's. Belongs to one thread.
class EpochReceipt {
 public:
  enum class Verdict { matched, mismatched, unknown };

  /// `whole`: from the epoch's first sample on.
  void begin(bool whole) noexcept;
  void add(std::span<const std::uint64_t> sample_ids) noexcept { ours_.add(sample_ids); }
  void add(const Receipt& samples) noexcept { ours_.add(samples); }
  /// Notes that samples of the epoch went by that are not in the receipt.
  void spoil() noexcept { whole_ = false; }
  [[nodiscard]] bool is_whole() const noexcept { return whole_; }
  [[nodiscard]] const Receipt& sum() const noexcept { return ours_; }

  /// `entry`: where the board has that epoch. `unknown` if either receipt lacks samples, or if the
  /// board has forgotten the epoch.
  [[nodiscard]] Verdict compare(const EpochEntry& entry, std::uint64_t epoch) noexcept;
  /// How the receipts compared last differ, for a message.
  [[nodiscard]] std::string difference() const;

 private:
  Receipt ours_;
  Receipt theirs_;
  bool whole_ = false;
};

}  // namespace batchcast::inline v0_1
