// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/consumer/observer.hpp>

#include <batchcast/core/error.hpp>
#include <batchcast/core/inline.hpp>
#include <batchcast/ring/cursor.hpp>

#include <algorithm>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace observer {

/// The part of [begin, end) in the epoch that has more of the two.
inline std::pair<std::uint64_t, std::uint64_t> in_one_epoch(std::uint64_t begin, std::uint64_t end,
                                                            std::uint64_t samples_per_epoch) {
  if (samples_per_epoch == 0) return {begin, end};
  const std::uint64_t start = (end - 1) / samples_per_epoch * samples_per_epoch;
  if (start <= begin || end - start >= start - begin) return {std::max(begin, start), end};
  const std::uint64_t before = start - samples_per_epoch;
  return {std::max(begin, before), start};
}

}  // namespace observer

BATCHCAST_INLINE std::optional<Batch> Observer::newest(std::uint64_t samples_max,
                                                       const std::shared_ptr<BatchPool>& pool) {
  int for_ever = -1;
  if (ring_.on_device()) {
    static_cast<void>(pool->wait_for_streams(BatchPool::waiting_copies_max, for_ever));
  }
  for (;;) {
    const std::optional<Run> run = newest_run(samples_max);
    if (!run) return std::nullopt;
    BatchPool::FreshRecord record = pool->take(pool, *run, false);
    if (record->rows_are_sound) filler_.copy(*record, *run);
    if (ring_.on_device()) ring_.delivery()->wait_for_copies();
    const bool is_whole = still_held(*run);
    if (is_whole && !record->rows_are_sound) {
      throw Refused("batchcast: the stream's samples have rows that cannot be.");
    }
    if (is_whole) return pool->hand_out(std::move(record));
    // The newest samples are the last to be overwritten. The next round takes younger ones, and
    // fewer: the ring may turn faster than that many can be copied.
    samples_max = std::max<std::uint64_t>(1, run->size / 2);
  }
}

BATCHCAST_INLINE std::optional<Run> Observer::newest_run(std::uint64_t samples_max) const noexcept {
  const BoardView board = ring_.board();
  const BoardHead& head = board.head();
  const BoardProgress& progress = board.progress();
  const std::uint64_t published = ordered::load_published(progress);
  const std::uint64_t oldest =
      oldest_held(ordered::load_kept_from(progress), ordered::get_acquire(progress.valid_from));
  if (oldest >= published || samples_max == 0) return std::nullopt;
  const std::uint64_t wanted = published - std::min(samples_max, published);
  const auto [begin, end] =
      observer::in_one_epoch(std::max(oldest, wanted), published, head.samples_per_epoch);
  Run run;
  run.position = begin;
  run.size = end - begin;
  run.epoch = head.samples_per_epoch == 0 ? 0 : begin / head.samples_per_epoch;
  return run;
}

/// Asked after the copies are made: whether none of these samples was written over meanwhile.
BATCHCAST_INLINE bool Observer::still_held(const Run& run) const noexcept {
  const BoardView board = ring_.board();
  const BoardProgress& progress = board.progress();
  return oldest_held(ordered::load_kept_from_after_reading(progress),
                     ordered::get_acquire(progress.valid_from)) <= run.position;
}

}  // namespace batchcast::inline v0_1::detail
