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
  throw RingTooSmall(text(
      "batchcast: this consumer holds {} batches, the oldest from position {} on, and asks for "
      "samples up to {}; the ring of stream `{}` spans {} samples. Drop batches sooner, give the "
      "stream more memory ({}), or copy batches with access = private.",
      held->leases, held->oldest, end - 1, names_.stream, names_.capacity, names_.memory_option));
}

}  // namespace batchcast::inline v0_1
