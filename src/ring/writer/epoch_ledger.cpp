// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "ring/writer/epoch_ledger.hpp"

#include <batchcast/core/assert.hpp>
#include <batchcast/ring/cursor.hpp>

#include <algorithm>

namespace batchcast::inline v0_1 {
namespace {

// One entry less for the epoch being written, and one for the epoch just left, whose receipt is
// compared after its last sample was released.
constexpr std::uint64_t epochs_spanned_max = limits::epochs_on_board - 2;

std::uint64_t product_saturated(std::uint64_t a, std::uint64_t b) noexcept {
  return b != 0 && a > limits::position_max / b ? limits::position_max : a * b;
}

}  // namespace

EpochLedger::EpochLedger(Board board, std::uint64_t samples_per_epoch, std::uint64_t epochs,
                         std::uint64_t start) noexcept
    : board_(board),
      samples_per_epoch_(samples_per_epoch),
      stream_end_(samples_per_epoch != 0 && epochs != 0
                      ? product_saturated(epochs, samples_per_epoch)
                      : limits::position_max),
      starts_{start},
      open_epoch_(epoch_of(start)),
      open_whole_(start == start_of(open_epoch_)) {}

std::uint64_t EpochLedger::epoch_of(std::uint64_t position) const noexcept {
  if (length_known()) return position / samples_per_epoch_;
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), position);
  const auto index = after == starts_.begin() ? 0 : after - starts_.begin() - 1;
  return first_remembered_ + static_cast<std::uint64_t>(index);
}

std::uint64_t EpochLedger::start_of(std::uint64_t epoch) const noexcept {
  if (length_known()) return product_saturated(epoch, samples_per_epoch_);
  BATCHCAST_ASSERT(epoch >= first_remembered_ && epoch - first_remembered_ < starts_.size());
  return starts_[epoch - first_remembered_];
}

std::optional<std::uint64_t> EpochLedger::end_of(std::uint64_t epoch) const noexcept {
  if (length_known()) return start_of(epoch + 1);
  if (epoch + 1 < first_remembered_ + starts_.size()) return start_of(epoch + 1);
  return std::nullopt;
}

std::optional<std::uint64_t> EpochLedger::first_start_from(std::uint64_t position) const noexcept {
  const std::uint64_t oldest = saturating_sub(open_epoch_, epochs_spanned_max);
  if (length_known()) {
    const std::uint64_t epoch =
        position / samples_per_epoch_ + (position % samples_per_epoch_ != 0 ? 1 : 0);
    return start_of(std::max(epoch, oldest));
  }
  for (std::uint64_t epoch = std::max(oldest, first_remembered_);
       epoch < first_remembered_ + starts_.size(); ++epoch) {
    if (start_of(epoch) >= position) return start_of(epoch);
  }
  return std::nullopt;
}

std::uint64_t EpochLedger::table_limit(std::uint64_t lowest) const noexcept {
  const std::uint64_t last_epoch = epoch_of(lowest) + epochs_spanned_max;
  if (length_known()) return start_of(last_epoch);
  if (last_epoch < first_remembered_ + starts_.size()) return start_of(last_epoch);
  return limits::position_max;
}

std::uint64_t EpochLedger::ahead_of(std::uint64_t position, std::uint64_t epochs) const noexcept {
  if (length_known())
    return saturating_add(position, product_saturated(epochs, samples_per_epoch_));
  const std::uint64_t epoch = epoch_of(position);
  const std::uint64_t end = saturating_add(epoch, epochs) + (position > start_of(epoch) ? 1 : 0);
  return end < first_remembered_ + starts_.size() ? start_of(end) : limits::position_max;
}

bool EpochLedger::published(std::uint64_t start, std::uint64_t end,
                            const Receipt& receipt) noexcept {
  BATCHCAST_ASSERT(epoch_of(start) == open_epoch_);
  open_receipt_.add(receipt);
  if (end_of(open_epoch_) != end) return false;
  announce();
  return true;
}

void EpochLedger::jumped(std::uint64_t target) noexcept {
  const std::uint64_t epoch = epoch_of(target);
  if (epoch == open_epoch_) {
    open_whole_ = false;
    return;
  }
  open(epoch, target == start_of(epoch));
  ordered::announce(board_.progress(), epoch);
}

void EpochLedger::jumped(std::uint64_t target, const Receipt& before) noexcept {
  jumped(target);
  open_receipt_ = before;
  open_whole_ = true;
}

void EpochLedger::restarted(std::uint64_t position, std::uint64_t epoch,
                            std::uint64_t epoch_start) noexcept {
  if (length_known()) {
    jumped(position);
    return;
  }
  const std::uint64_t current = first_remembered_ + starts_.size() - 1;
  BATCHCAST_ASSERT(epoch >= current);
  if (epoch == current) {
    BATCHCAST_ASSERT(epoch_start == starts_.back());
    open_whole_ = false;
    return;
  }
  // Readers find the start of an epoch as the end of the one before.
  EpochEntry& before = board_.epoch(epoch - 1);
  ordered::set_release(before.epoch_plus_one, 0);
  ordered::release_fence();
  ordered::set(before.start, epoch - 1 == current ? starts_.back() : epoch_start);
  ordered::set(before.end, epoch_start);
  ordered::set(before.receipt_count, 0);
  ordered::set(before.receipt_hash, 0);
  ordered::set(before.receipt_known, 0);
  ordered::set_release(before.epoch_plus_one, epoch);
  starts_.assign(1, epoch_start);
  first_remembered_ = epoch;
  open(epoch, position == epoch_start);
  ordered::announce(board_.progress(), epoch);
}

void EpochLedger::end_current(std::uint64_t end, std::uint64_t published_end) noexcept {
  BATCHCAST_ASSERT(!length_known() && end > starts_.back());
  starts_.push_back(end);
  if (end == published_end) announce();  // else `published` announces it there
  while (starts_.size() > limits::epochs_on_board) {
    starts_.pop_front();
    ++first_remembered_;
  }
}

void EpochLedger::announce() noexcept {
  EpochEntry& entry = board_.epoch(open_epoch_);
  ordered::set_release(entry.epoch_plus_one, 0);
  ordered::release_fence();
  ordered::set(entry.start, start_of(open_epoch_));
  ordered::set(entry.end, *end_of(open_epoch_));
  ordered::set(entry.receipt_count, open_receipt_.count);
  ordered::set(entry.receipt_hash, open_receipt_.hash);
  ordered::set(entry.receipt_known, open_whole_ ? 1 : 0);
  ordered::set_release(entry.epoch_plus_one, open_epoch_ + 1);
  ordered::announce(board_.progress(), open_epoch_ + 1);
  open(open_epoch_ + 1, true);
}

void EpochLedger::open(std::uint64_t epoch, bool whole) noexcept {
  open_epoch_ = epoch;
  open_receipt_ = {};
  open_whole_ = whole;
}

}  // namespace batchcast::inline v0_1
