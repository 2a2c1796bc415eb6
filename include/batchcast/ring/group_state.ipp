// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/group_state.hpp>

#include <batchcast/core/inline.hpp>
#include <batchcast/ring/cursor.hpp>

namespace batchcast::inline v0_1 {

BATCHCAST_INLINE void GroupState::begin_epoch(std::uint64_t epoch) noexcept {
  ordered::set_reading(desk_, epoch + 1);
}

BATCHCAST_INLINE void GroupState::leave_unbegun() noexcept { ordered::set_reading(desk_, 0); }

BATCHCAST_INLINE void GroupState::end_epoch(std::uint64_t epoch) noexcept {
  ordered::set_reading(desk_, 0);
  ended_ = epoch + 1;
  awaits_receipt_ = true;
}

BATCHCAST_INLINE void GroupState::take_over(const GroupState& last,
                                            std::uint64_t reading) noexcept {
  ended_ = last.ended_;
  awaits_receipt_ = last.awaits_receipt_ && !last.receipt();
  ordered::set_reading(desk_, reading);
}

BATCHCAST_INLINE std::optional<std::uint64_t> GroupState::next_epoch() const noexcept {
  return ended_ == 0 ? std::nullopt : std::optional(ended_);
}

BATCHCAST_INLINE std::optional<GroupReceipt> GroupState::receipt() const noexcept {
  if (!awaits_receipt_ || ordered::get_acquire(entry_.epochs_met) < ended_) return std::nullopt;
  const std::uint64_t told = ordered::get(entry_.group_receipt);
  const auto known = static_cast<std::uint64_t>(GroupReceipt::mismatched);
  return told <= known ? static_cast<GroupReceipt>(told) : GroupReceipt::unknown;
}

BATCHCAST_INLINE bool GroupState::will_not_meet() const noexcept {
  return ordered::load_lost(entry_) != 0 && ordered::get(entry_.lost_from) < ended_;
}

BATCHCAST_INLINE bool GroupState::ends_here(std::uint64_t epoch, RowPlace place) const noexcept {
  if (ordered::get_acquire(entry_.ends_epoch) != epoch + 1) return false;
  return place >= RowPlace{ordered::get(entry_.ends_at), ordered::get(entry_.ends_at_row)};
}

BATCHCAST_INLINE std::optional<detail::LostRank> GroupState::lost_before_eviction() const noexcept {
  const std::uint64_t lost = ordered::load_lost(entry_);
  const bool is_own = ordered::load_consumer_id_after_reading(entry_) == 0;  // no other came yet
  return lost == 0 || !is_own ? std::nullopt : std::optional(detail::LostRank::of(lost));
}

BATCHCAST_INLINE std::optional<detail::LostRank> GroupState::lost_for(
    std::uint64_t epoch) const noexcept {
  const std::uint64_t lost = ordered::load_lost(entry_);
  if (lost == 0 || epoch < ordered::get(entry_.lost_from)) return std::nullopt;
  return detail::LostRank::of(lost);
}

}  // namespace batchcast::inline v0_1
