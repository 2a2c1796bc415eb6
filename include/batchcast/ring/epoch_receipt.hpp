// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/row_place.hpp>
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
  /// In another ring, where `last` came to, without its rows.
  void begin_as(const EpochReceipt& last) noexcept {
    ours_ = last.ours_, whole_ = last.whole_, checks_rows_ = false;
  }
  void add(std::span<const std::uint64_t> sample_ids) noexcept { ours_.add(sample_ids); }
  void add(const Receipt& samples) noexcept { ours_.add(samples); }
  /// Notes that samples of the epoch went by that are not in the receipt.
  void spoil() noexcept { whole_ = false; }
  [[nodiscard]] bool is_whole() const noexcept { return whole_; }
  [[nodiscard]] const Receipt& sum() const noexcept { return ours_; }

  /// The rows [first, end) of an axis came by, by their coordinates; other ranks have `others`.
  void pass_rows(std::uint64_t first, std::uint64_t end, const RowCounts& counts,
                 std::uint64_t others = 0) noexcept;
  /// Of all epochs.
  [[nodiscard]] const RowCounts& rows() const noexcept { return rows_; }
  /// Of this epoch, where all of it went by.
  [[nodiscard]] RowReceipt row_receipt() const noexcept;
  /// Those of this epoch are of several axes or rings.
  void spoil_rows() noexcept { checks_rows_ = false; }

  /// `entry`: where the board has that epoch. All rows have to be counted, too. `unknown` if either
  /// receipt lacks samples, or if the board has forgotten the epoch.
  [[nodiscard]] Verdict compare(const EpochEntry& entry, std::uint64_t epoch) noexcept;
  /// How the receipts compared last differ, for a message.
  [[nodiscard]] std::string difference() const;

 private:
  Receipt ours_;
  Receipt theirs_;
  bool whole_ = false;
  RowCounts rows_;
  bool checks_rows_ = true;
  // Of the epoch; own rows are not those of other ranks:
  std::uint64_t first_row_ = 0, end_row_ = 0, counted_rows_ = 0, own_rows_ = 0;
};

}  // namespace batchcast::inline v0_1
