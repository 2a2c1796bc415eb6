// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/lease_room.hpp>

#include <batchcast/core/error.hpp>
#include <batchcast/core/inline.hpp>

#include <utility>

namespace batchcast::inline v0_1 {

BATCHCAST_INLINE LeaseRoom::LeaseRoom(const LeaseTable& leases, ReaderHost& host, Names names)
    : leases_(leases), host_(host), names_(std::move(names)) {}

BATCHCAST_INLINE std::optional<LeaseTable::Held> LeaseRoom::make(std::uint64_t end) {
  for (;;) {
    const auto held = leases_.in_the_way_of(end, host_);
    if (!held || !host_.give_oldest_back()) return held;
  }
}

BATCHCAST_INLINE void LeaseRoom::make_for_skip() {
  while (leases_.hold_up_skip() && host_.give_oldest_back()) continue;
}

BATCHCAST_INLINE void LeaseRoom::check(std::uint64_t end) {
  const auto held = make(end);
  if (!held) return;
  throw RingTooSmall("batchcast: this consumer holds " + std::to_string(held->leases) +
                     " batches, the oldest from position " + std::to_string(held->oldest) +
                     " on, and asks for samples up to " + std::to_string(end - 1) +
                     "; the ring of stream `" + names_.stream + "` spans " +
                     std::to_string(names_.capacity) +
                     " samples. Drop batches sooner, give the stream more memory (" +
                     names_.memory_option + "), or copy batches with access = private.");
}

}  // namespace batchcast::inline v0_1
