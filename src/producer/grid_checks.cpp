// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "producer/grid_checks.hpp"

#include <batchcast/core/text.hpp>

namespace batchcast::inline v0_1::detail {
namespace {

/// One rank, or ranks that are all here, share whole batches of all samples.
bool is_on_one_node(const Hello& hello) noexcept {
  return hello.job_world == 0 || hello.job_world == hello.world;
}

Grid columns_of(const Hello& hello, std::uint64_t samples) noexcept {
  if (is_on_one_node(hello)) return Grid::whole(samples);
  return {
      .samples = samples, .ranks = hello.job_world, .first = hello.job_first, .own = hello.world};
}

std::string job_text(const Grid& grid) {
  if (grid.is_whole()) return "a job on this node alone";
  const std::string ranks = grid.own == 1
                                ? text("rank {}", grid.first)
                                : text("ranks {} to {}", grid.first, grid.first + grid.own - 1);
  return text("{} of {}", ranks, grid.ranks);
}

}  // namespace

std::string GridChecks::stream_text() const {
  return text("batchcast: stream `{}`: ", options_.stream);
}

std::optional<Refusal> GridChecks::settle(Hello& hello,
                                          const std::function<std::string()>& attended) const {
  // One that comes back names the position, and the identity with it, which has the grid.
  if (!options_.grid || hello.observes || hello.resumes) return std::nullopt;
  if (auto refusal = refusal_of_job(hello)) return refusal;
  const Grid& grid = *options_.grid;
  const Grid columns = columns_of(hello, grid.samples);
  const bool fits = grid.has_same_columns(columns);
  const auto position = hello.join == Join::at ? grid.position_of(hello.cursor) : 0;
  if (fits && position) {
    if (hello.join == Join::at) hello.cursor = *position;
    return std::nullopt;
  }
  const std::string laid_out =
      fits ? text("its rows do not begin at the cursor {}", hello.cursor)
           : text("it is laid out for {}, and {} is of {}", job_text(grid),
                  hello.group.empty() ? "this consumer" : "this rank", job_text(columns));
  if (const std::string others = attended(); !others.empty()) {
    return Refusal{RefusalKind::busy,
                   text("{}{}. It is laid out again once nobody else is attached; {}",
                        stream_text(), laid_out, others)};
  }
  const bool turns = hello.join == Join::at && !columns.position_of(hello.cursor);
  options_.want_grid(turns ? columns.beginning_at(hello.cursor) : columns);
  return Refusal{RefusalKind::busy,
                 text("{}{}. It is being laid out again", stream_text(), laid_out)};
}

/// What no grid can give.
std::optional<Refusal> GridChecks::refusal_of_job(const Hello& hello) const {
  if (is_on_one_node(hello)) return std::nullopt;
  const std::string job = text("{}group `{}` has {} of the {} ranks of its job, and ",
                               stream_text(), hello.group, hello.world, hello.job_world);
  if (hello.budget.is_set() || hello.window.is_set()) {
    return Refusal{
        RefusalKind::group,
        text("{}batches by {} would not be the same number on each node. Take batches of "
             "a number of samples, or serve the stream with --shard I/N",
             job, hello.window.is_set() ? "windows" : "a budget")};
  }
  if (hello.job_world > options_.grid->samples) {
    return Refusal{RefusalKind::group, text("{}an epoch has only {} samples. Start fewer ranks",
                                            job, options_.grid->samples)};
  }
  return std::nullopt;
}

}  // namespace batchcast::inline v0_1::detail
