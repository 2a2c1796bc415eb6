// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/group_share.hpp>

#include <batchcast/core/inline.hpp>
#include <batchcast/ring/cursor.hpp>

#include <algorithm>
#include <utility>

namespace batchcast::inline v0_1 {

BATCHCAST_INLINE GroupShare::GroupShare(BoardView board, Desk& desk, Group group, Tail tail)
    : entry_(board.consumer(desk.index)),
      desk_(desk),
      group_(std::move(group)),
      rank_(group_.rank),
      world_(std::max(group_.world, 1U)),
      tail_(tail) {}

BATCHCAST_INLINE std::uint64_t GroupShare::whole(std::uint64_t samples) const noexcept {
  return samples > limits::position_max / world_ ? limits::position_max : samples * world_;
}

BATCHCAST_INLINE std::optional<GroupShare::Part> GroupShare::part_of(
    std::uint64_t samples, std::uint64_t there) const noexcept {
  if (there == whole(samples)) return Part{rank_ * samples, samples};
  const std::uint64_t each = there / world_;
  switch (tail_) {
    case Tail::keep:
      if (each == 0) return std::nullopt;
      return Part{rank_ * each, each, 0, there - each * world_};
    case Tail::drop:
      return std::nullopt;
    case Tail::pad:
      break;
  }
  const std::uint64_t first = rank_ * samples;
  const std::uint64_t own = std::min(first < there ? there - first : 0, samples);
  return Part{first % there, samples, samples - own};
}

BATCHCAST_INLINE void GroupShare::begin_epoch(std::uint64_t epoch) noexcept {
  if (is_group()) ordered::set_reading(desk_, epoch + 1);
}

BATCHCAST_INLINE void GroupShare::leave_unbegun() noexcept {
  if (is_group()) ordered::set_reading(desk_, 0);
}

BATCHCAST_INLINE void GroupShare::end_epoch(std::uint64_t epoch) noexcept {
  ordered::set_reading(desk_, 0);
  ended_ = epoch + 1;
  awaits_receipt_ = true;
}

BATCHCAST_INLINE std::optional<std::uint64_t> GroupShare::next_epoch() const noexcept {
  return ended_ == 0 ? std::nullopt : std::optional(ended_);
}

BATCHCAST_INLINE std::optional<GroupReceipt> GroupShare::receipt() const noexcept {
  if (!awaits_receipt_ || ordered::get_acquire(entry_.epochs_met) < ended_) return std::nullopt;
  const std::uint64_t told = ordered::get(entry_.group_receipt);
  const auto known = static_cast<std::uint64_t>(GroupReceipt::mismatched);
  return told <= known ? static_cast<GroupReceipt>(told) : GroupReceipt::unknown;
}

BATCHCAST_INLINE bool GroupShare::will_not_meet() const noexcept {
  return ordered::load_lost(entry_) != 0 && ordered::get(entry_.lost_from) < ended_;
}

BATCHCAST_INLINE bool GroupShare::ends_here(std::uint64_t epoch,
                                            std::uint64_t position) const noexcept {
  return ordered::get_acquire(entry_.ends_epoch) == epoch + 1 &&
         position >= ordered::get(entry_.ends_at);
}

BATCHCAST_INLINE std::optional<detail::LostRank> GroupShare::lost_before_eviction() const noexcept {
  if (!is_group()) return std::nullopt;
  const std::uint64_t lost = ordered::load_lost(entry_);
  const bool is_own = ordered::load_consumer_id_after_reading(entry_) == 0;  // no other came yet
  return lost == 0 || !is_own ? std::nullopt : std::optional(detail::LostRank::of(lost));
}

BATCHCAST_INLINE std::optional<detail::LostRank> GroupShare::lost_for(
    std::uint64_t epoch) const noexcept {
  const std::uint64_t lost = ordered::load_lost(entry_);
  if (lost == 0 || epoch < ordered::get(entry_.lost_from)) return std::nullopt;
  return detail::LostRank::of(lost);
}

}  // namespace batchcast::inline v0_1
