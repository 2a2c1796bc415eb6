// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

// A producer's rings, as the simulation compiles them. None is on a GPU.
#include "producer/served_rings.cpp"

namespace batchcast::inline v0_1 {

void raise_open_files_limit(std::uint64_t) {}

}  // namespace batchcast::inline v0_1
