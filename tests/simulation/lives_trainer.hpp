// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "simulation/lives_state.hpp"

namespace batchcast::simulation::lives_world {

/// All that a trainer does. The order of its steps is that of `consumer/rider.ipp`, which has
/// threads and sockets.
void run_trainer(Trainer& self);

}  // namespace batchcast::simulation::lives_world
