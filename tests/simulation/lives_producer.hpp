// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "simulation/lives_state.hpp"

// The two fibres of a producer's life.
namespace batchcast::simulation::lives_world {

/// Takes the stream's name once the producers before are dead, and serves at the door until all
/// trainers have left.
void serve(Life& life);
/// Makes the samples.
void make(Life& life);

}  // namespace batchcast::simulation::lives_world
