// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/launcher/launched_group.hpp>

#include <batchcast/core/error.hpp>
#include <batchcast/core/inline.hpp>
#include <batchcast/core/json_member.hpp>
#include <batchcast/core/text.hpp>
#include <batchcast/launcher/launcher.hpp>

#include <cstdlib>

namespace batchcast::inline v0_1::detail {

BATCHCAST_INLINE Group settled(const Group& group, const LogCallback& log) {
  if (!group.automatic) return group;
  const LaunchedRank launched = launched_rank(std::getenv);
  report(log, LogLevel::info,
         text("group `auto` is {}: {}", launched.group.text(), launched.origin));
  return launched.group;
}

BATCHCAST_INLINE void warn_of_other_nodes(const Group& group, const std::string& stream,
                                          std::string_view recipe_json, const LogCallback& log) {
  if (group.world == 0) return;
  if (json_member(recipe_json, "grid")) {
    if (group.job_world != 0 || !has_other_nodes(std::getenv)) return;
    throw InvalidArgument(
        text("batchcast: group `{}` is of a job on several nodes, and nothing says which of its "
             "ranks are on this one, so each node would train on the same samples. Stream `{}` "
             "gives a node its own: name them, NAME:RANK/WORLD@FIRST/JOB.",
             group.name, stream));
  }
  if (group.rank != 0) return;
  const auto shard = json_member(recipe_json, "shard");
  if (!shard) return;  // not of a dataset
  const std::string_view numbers = recipe_json.substr(shard->value, shard->end - shard->value);
  const auto count = json_member(numbers, "count");
  if (!count || numbers.substr(count->value, count->end - count->value) != "1") return;
  if (!has_other_nodes(std::getenv)) return;
  report(log, LogLevel::warning,
         text("group `{}` is of a job on several nodes, and this stream has all of the dataset: "
              "each node trains on the same samples. Serve it with `--shard blocks` or `--shard "
              "auto` on "
              "every node.",
              group.name),
         text("stream `{}`: ", stream));
}

}  // namespace batchcast::inline v0_1::detail
