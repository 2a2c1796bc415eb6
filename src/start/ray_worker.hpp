// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

// Ray gives each of its workers an environment for that worker alone. A producer outlives the
// worker that starts it, and serves the other workers of the node as well.
namespace batchcast::inline v0_1::detail {

/// In a worker of Ray: takes the node's place instead of the worker's, for this process and those
/// that it starts. Afterwards the working directory is the one that the worker was started in,
/// before Ray changed to a trial's. CUDA_VISIBLE_DEVICES, OMP_NUM_THREADS and the rank among the
/// victims of the kernel's OOM killer are those of the node's raylet. A relative BATCHCAST_DIR
/// keeps its meaning. Elsewhere it does nothing. Call it while the process has one thread.
void leave_ray_worker();

}  // namespace batchcast::inline v0_1::detail
