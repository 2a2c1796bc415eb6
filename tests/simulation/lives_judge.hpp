// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/reader.hpp>
#include "simulation/lives_state.hpp"

#include <cstdint>

// What has to hold in the world of lives. Each check that does not hold ends the schedule (`fail`).
namespace batchcast::simulation::lives_world {

/// No live trainer needs what this ring loses as it writes up to there.
void check_gate(const Ring& ring, std::uint64_t end);
/// A rank gets GroupBroken. The others get all epochs that those had which left in order.
void check_broken(const Trainer& self);
/// Whether its group may be broken: a rank died, went, or missed its welcome.
[[nodiscard]] bool may_be_broken() noexcept;
/// A trainer gets the run that is next, of its epoch.
void check_run(const Trainer& self, const Run& run);
/// It came to the end of an epoch: all whole batches were there, up to where a rank left it.
void check_epoch_end(const Trainer& self, std::uint64_t epoch);
/// Who asks for a cursor is welcomed there.
void check_place(const Trainer& self, const Connection& one);
/// The current fibre has what it waits for: it was woken for it, unless the producer died.
void check_wake_up(const Life& life);

}  // namespace batchcast::simulation::lives_world
