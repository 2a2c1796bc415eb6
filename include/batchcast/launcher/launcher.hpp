// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/group.hpp>

#include <cstdint>
#include <functional>
#include <string>

// What the launcher of a data-parallel job says to each of its processes in environment variables.
// Launchers are torchrun, Ray Train, Lightning's, Open MPI's mpirun and Slurm's srun; between
// nodes also Kubernetes.
namespace batchcast::inline v0_1::detail {

/// The value of a variable; null where it is not set. As for std::getenv, no thread may change the
/// environment meanwhile.
using Environment = std::function<const char*(const char*)>;

/// The ranks of a job that has some on other nodes: their number, and the first of this node.
struct LaunchedJob {
  std::uint32_t first = 0;
  std::uint32_t world = 0;
};

/// This process's place in its job on this node, and which variables of which launcher say so.
struct LaunchedRank {
  Group group;
  std::string origin;
};
/// Where one launcher started another, the innermost counts. Throws InvalidArgument where there is
/// no launcher, or where variables are missing, make no sense or contradict each other. The text
/// names them.
[[nodiscard]] LaunchedRank launched_rank(const Environment& environment);

/// This node's place among those of the job.
struct LaunchedNode {
  std::uint32_t rank = 0;
  std::uint32_t nodes = 0;
  std::string origin;
};
/// The same for the node. Where no launcher says it, Kubernetes is asked.
[[nodiscard]] LaunchedNode launched_node(const Environment& environment);

/// Whether the launcher says that the job has other nodes.
[[nodiscard]] bool has_other_nodes(const Environment& environment) noexcept;

/// The text itself where it can name a group. Otherwise a name with a hash of the text, so that
/// different texts make different names.
[[nodiscard]] std::string group_name_of(std::string_view text);

}  // namespace batchcast::inline v0_1::detail
