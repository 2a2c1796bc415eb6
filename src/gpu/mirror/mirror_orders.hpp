// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/cursor.hpp>
#include <batchcast/ring/futex.hpp>
#include "ring/writer/writer.hpp"

#include <mutex>
#include <optional>

namespace batchcast::inline v0_1::detail {

/// What the door's thread, which decides whether a mirror copies, and the mirror's own thread say
/// to each other. All but the word is read and written with the mutex.
struct MirrorOrders {
  enum class State {
    /// Nothing is in flight, and the host ring does not wait for the mirror. The door's thread
    /// leaves it for `copying`, the mirror's for `over`.
    resting,
    /// The mirror's thread leaves it for `resting` once that is wanted and nothing is in flight,
    /// and for `over`.
    copying,
    /// The device ring's stream has ended, or its end is on its way. Stays.
    over,
  };

  std::mutex mutex;
  State state = State::resting;
  bool rest_wanted = false;          ///< `copying`: no trainer asks for samples any more
  bool ending = false;               ///< the mirror is being destroyed
  std::optional<MirrorStart> start;  ///< where to copy from, until the mirror's thread takes it up
  Shared32 changed{0};               ///< bumped with `state`

  /// With the mutex. Wakes the threads that sleep on `changed`.
  void set_state(State next) noexcept {
    state = next;
    ordered::bump(changed);
    futex_wake(changed);
  }
};

}  // namespace batchcast::inline v0_1::detail
