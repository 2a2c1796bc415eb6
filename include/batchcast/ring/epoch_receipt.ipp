// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/epoch_receipt.hpp>

#include <batchcast/core/inline.hpp>
#include <batchcast/core/text.hpp>
#include <batchcast/ring/cursor.hpp>

namespace batchcast::inline v0_1 {

BATCHCAST_INLINE void EpochReceipt::begin(bool whole) noexcept {
  ours_ = {};
  whole_ = checks_rows_ = whole;
  end_row_ = counted_rows_ = own_rows_ = 0;
}

BATCHCAST_INLINE EpochReceipt::Verdict EpochReceipt::compare(const EpochEntry& entry,
                                                             std::uint64_t epoch) noexcept {
  theirs_ = {};
  bool known = ordered::get_acquire(entry.epoch_plus_one) == epoch + 1;
  if (known) {
    theirs_.count = ordered::get_acquire(entry.receipt_count);
    theirs_.hash = ordered::get_acquire(entry.receipt_hash);
    known = ordered::get_acquire(entry.receipt_known) != 0 &&
            ordered::get(entry.epoch_plus_one) == epoch + 1;
  }
  if (!known || !whole_) return Verdict::unknown;
  const bool has_rows = !checks_rows_ || end_row_ == 0 || counted_rows_ == end_row_ - first_row_;
  return theirs_ == ours_ && has_rows ? Verdict::matched : Verdict::mismatched;
}

BATCHCAST_INLINE void EpochReceipt::pass_rows(std::uint64_t first, std::uint64_t end,
                                              const RowCounts& counts,
                                              std::uint64_t others) noexcept {
  if (end_row_ == 0) first_row_ = first;
  end_row_ = end;
  counted_rows_ += counts.in_all() + others;
  rows_.add(counts);
  own_rows_ += counts.in_all();
}

BATCHCAST_INLINE RowReceipt EpochReceipt::row_receipt() const noexcept {
  if (!whole_ || !checks_rows_ || end_row_ == 0) return {};
  return {own_rows_, end_row_ - first_row_};
}

BATCHCAST_INLINE std::string EpochReceipt::difference() const {
  if (theirs_ == ours_) return text("of {} rows {} came", end_row_ - first_row_, counted_rows_);
  return text("{} samples came, {} were published, and the hashes of their ids {}", ours_.count,
              theirs_.count, theirs_.hash == ours_.hash ? "agree" : "differ");
}

}  // namespace batchcast::inline v0_1
