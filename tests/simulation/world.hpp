// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "simulation/scheduler.hpp"

#include <cstdint>

namespace batchcast::simulation {

/// One schedule of a small world that the chances draw: a writer and the readers of a ring, each in
/// a process. Nothing of it is kept.
Outcome run_ring_world();

/// The same of a pure stream that up to three producers serve one after the other, with trainers
/// that go on, and a group of ranks.
Outcome run_lives_world();

}  // namespace batchcast::simulation
