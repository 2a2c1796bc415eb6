// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/text.hpp>

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace batchcast::inline v0_1 {

namespace detail {

[[noreturn]] void refuse_group_number(const std::string& number, const char* which);

template <std::integral Number>
[[nodiscard]] std::uint32_t group_number(Number number, const char* which) {
  if (!std::in_range<std::uint32_t>(number)) refuse_group_number(text("{}", number), which);
  return static_cast<std::uint32_t>(number);
}

}  // namespace detail

/// The ranks of one data-parallel job on this machine, which share each batch of a stream. Batch k
/// is world times batch_size consecutive samples, of which this rank gets the rank-th part. Written
/// "NAME:RANK/WORLD" ("resnet:0/4" is the first of four), or "auto". With "auto" the launcher of
/// this process (torchrun, mpirun or srun) says all three.
///
/// Where the job has ranks on other nodes, "NAME:RANK/WORLD@FIRST/JOB" says how many ranks it has,
/// and which of them are here. `resnet:0/2@4/8` is the first of two here, of eight in all. These
/// two are the fifth and the sixth. A stream of `serve --shard blocks` takes that into account;
/// others are as without it.
struct Group {
  /// The job's name, the same in all its ranks. Printable ASCII, at most 63 bytes.
  std::string name = {};
  std::uint32_t rank = 0;   ///< below world
  std::uint32_t world = 0;  ///< 0: no group
  /// Of a job on several nodes: its first rank here, and how many ranks it has in all. Each rank of
  /// the job is on one node only. 0, the default: all are here.
  std::uint32_t job_first = 0;
  std::uint32_t job_world = 0;
  /// "auto": attaching takes name, rank and world from the launcher's environment.
  bool automatic = false;

  Group() = default;
  /// Rank and world may be of any integer types. Throws InvalidArgument for a number that is
  /// negative or takes more than 32 bits.
  template <std::integral Rank, std::integral World>
  Group(std::string its_name, Rank its_rank, World its_world)
      : name(std::move(its_name)),
        rank(detail::group_number(its_rank, "rank")),
        world(detail::group_number(its_world, "world")) {}
  /// Throws InvalidArgument for any other text, also for an empty one: no group is `Group()`.
  Group(std::string_view text);  // NOLINT: `.group = "auto"` is how it is written
  Group(const char* text) : Group(std::string_view(text)) {}
  Group(const std::string& text) : Group(std::string_view(text)) {}

  /// The group as it is written; empty without a group.
  [[nodiscard]] std::string text() const;

  friend bool operator==(const Group&, const Group&) = default;
};

namespace detail {

/// Why a rank is no longer in its group.
enum class RankLoss : std::uint8_t { left = 1, died, evicted };

/// The first rank that a group lost: one word on the board, which is 0 while no rank is lost.
struct LostRank {
  std::uint32_t rank = 0;  ///< below 2^24
  std::uint32_t pid = 0;
  RankLoss how = RankLoss::left;

  [[nodiscard]] std::uint64_t word() const noexcept {
    return std::uint64_t{static_cast<std::uint8_t>(how)} << 56 | std::uint64_t{rank} << 32 | pid;
  }
  [[nodiscard]] static LostRank of(std::uint64_t word) noexcept {
    return {static_cast<std::uint32_t>(word >> 32) & 0xffffffU, static_cast<std::uint32_t>(word),
            static_cast<RankLoss>(word >> 56)};
  }
  [[nodiscard]] std::string text() const {
    const char* const did = how == RankLoss::died      ? ") died"
                            : how == RankLoss::evicted ? ") was evicted"
                                                       : ") left";
    return batchcast::text("rank {} (pid {}{}", rank, pid, did);
  }
};

}  // namespace detail

}  // namespace batchcast::inline v0_1
