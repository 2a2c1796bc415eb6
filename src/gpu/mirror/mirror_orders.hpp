// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/cursor.hpp>
#include <batchcast/ring/futex.hpp>
#include "ring/writer/writer.hpp"

#include <mutex>
#include <optional>

namespace batchcast::inline v0_1::detail {

/// What two threads say to each other: the door's, which decides whether a mirror copies, and the
/// mirror's. All members but the word are read and written with the mutex held.
struct MirrorOrders {
  enum class State {
    /// Nothing is in flight, and the host ring does not wait for the mirror. The door's thread
    /// leaves this state for `copying`, the mirror's for `over`.
    resting,
    /// The mirror's thread leaves this state for `resting`, once that is wanted and nothing is in
    /// flight, and for `over`.
    copying,
    /// The device ring's stream has ended, or its end is on its way. This state stays.
    over,
  };

  std::mutex mutex;
  State state = State::resting;
  bool rest_wanted = false;          ///< `copying`: no trainer asks for samples any more
  bool ending = false;               ///< the mirror is being destroyed
  std::optional<MirrorStart> start;  ///< where to copy from, until the mirror's thread takes it up
  Shared32 changed{0};               ///< bumped with `state`

  /// Call it with the mutex held. Wakes the threads that sleep on `changed`.
  void set_state(State next) noexcept {
    state = next;
    ordered::bump(changed);
    futex_wake(changed);
  }
};

}  // namespace batchcast::inline v0_1::detail
