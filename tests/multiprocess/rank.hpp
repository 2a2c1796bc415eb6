// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "process.hpp"
#include "samples.hpp"

#include <batchcast/batchcast.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace batchcast::testing {

/// How a rank of a group goes about it.
struct RankPlan {
  static constexpr std::uint64_t never = ~std::uint64_t{0};

  std::uint64_t epochs = 0;            ///< loops to run; 0: until something ends it
  std::uint64_t leave_loop = never;    ///< the loop that it leaves early,
  std::uint64_t leave_after = 0;       ///< after so many batches
  std::uint64_t drop_in_loop = never;  ///< the loop in which its consumer goes,
  std::uint64_t drop_after = 0;        ///< after so many batches
  std::uint64_t pause_us = 0;          ///< after each batch
  std::function<void(const Batch&)> on_batch = {};
};

/// A batch of a rank.
struct Part {
  std::uint64_t position = 0;
  std::uint64_t size = 0;
  std::uint64_t padding = 0;
  std::uint64_t cursor = 0;  ///< of the consumer, once it had the batch

  friend bool operator==(const Part&, const Part&) = default;
};

struct Ranked {
  std::vector<std::vector<Part>> loops;
  std::string fault;  ///< of the samples
  std::string over;   ///< name of the exception that ended it; empty: it left
  std::string text;   ///< of that exception
  std::uint64_t first = 0;
  std::uint64_t cursor = 0;
  ConsumerStats stats;
};

/// The stream `s`, rank `rank` of `world` in group `ddp`.
[[nodiscard]] ConsumerOptions rank_options(std::uint32_t rank, std::uint32_t world,
                                           std::uint64_t batch_size);
/// Attaches one rank, and runs it to its end.
[[nodiscard]] Ranked run_rank(const ConsumerOptions& options, const RankPlan& plan,
                              const std::function<void(Consumer&)>& attached = {});
/// All ranks of a group in threads of this process, with rank 0's options but for the rank.
[[nodiscard]] std::vector<Ranked> run_ranks(
    const ConsumerOptions& options, const std::function<RankPlan(std::uint32_t rank)>& plan =
                                        [](std::uint32_t) { return RankPlan(); });

/// What the `rank` role says of a loop with these batches.
[[nodiscard]] std::string text_of(const std::vector<Part>& parts);
/// The batches of that rank in a loop that begins at `position` and ends at `end`.
[[nodiscard]] std::vector<Part> parts_of(const ConsumerOptions& rank, std::uint64_t position,
                                         std::uint64_t end);

}  // namespace batchcast::testing
