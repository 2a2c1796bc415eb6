// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/group.hpp>
#include <batchcast/core/log.hpp>

#include <string>
#include <string_view>

namespace batchcast::inline v0_1::detail {

/// The group itself; of "auto" the one that the launcher of this process tells, which is reported
/// with the variables that it was taken from. Throws InvalidArgument where no launcher tells it.
[[nodiscard]] Group settled(const Group& group, const LogCallback& log);

/// Warns in the first rank of a group whose job has other nodes if the stream is no shard. All
/// nodes would train on the same samples. Of a stream that is laid out for such a job it throws
/// InvalidArgument, unless the group says which of the job's ranks it has.
void warn_of_other_nodes(const Group& group, const std::string& stream,
                         std::string_view recipe_json, const LogCallback& log);

}  // namespace batchcast::inline v0_1::detail
