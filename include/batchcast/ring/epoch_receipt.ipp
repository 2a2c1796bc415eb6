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
  whole_ = whole;
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
  return theirs_ == ours_ ? Verdict::matched : Verdict::mismatched;
}

BATCHCAST_INLINE std::string EpochReceipt::difference() const {
  return text("{} samples came, {} were published, and the hashes of their ids {}", ours_.count,
              theirs_.count, theirs_.hash == ours_.hash ? "agree" : "differ");
}

}  // namespace batchcast::inline v0_1
