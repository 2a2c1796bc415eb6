// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/group.hpp>

#include <cstdint>
#include <functional>
#include <string>

// What the launcher of a data-parallel job (torchrun, Lightning's own, Open MPI's mpirun, Slurm's
// srun; between nodes Kubernetes too) tells each of its processes in environment variables.
namespace batchcast::inline v0_1::detail {

/// The value of a variable; null where it is not set. As std::getenv, whose promises about threads
/// hold here too.
using Environment = std::function<const char*(const char*)>;

/// This process among those of its job on this node, and which variables of which launcher say so.
struct LaunchedRank {
  Group group;
  std::string origin;
};
/// Of several launchers, one inside another, the innermost counts. Throws InvalidArgument where
/// there is none, or where variables are missing, make no sense or contradict each other; the text
/// names them.
[[nodiscard]] LaunchedRank launched_rank(const Environment& environment);

/// This node among those of the job.
struct LaunchedNode {
  std::uint32_t rank = 0;
  std::uint32_t nodes = 0;
  std::string origin;
};
/// The same; where none of them says it, Kubernetes is asked.
[[nodiscard]] LaunchedNode launched_node(const Environment& environment);

/// Whether the launcher says that the job has other nodes.
[[nodiscard]] bool has_other_nodes(const Environment& environment) noexcept;

/// The text itself where it can name a group. Else what can, with a hash, so that different texts
/// make different names.
[[nodiscard]] std::string group_name_of(std::string_view text);

}  // namespace batchcast::inline v0_1::detail
