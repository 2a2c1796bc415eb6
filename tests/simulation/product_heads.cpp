// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

// A producer's heads, as the simulation compiles them.
#include "producer/heads.cpp"
#include "producer/work_shares.cpp"
