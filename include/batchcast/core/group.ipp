// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/group.hpp>

#include <batchcast/core/error.hpp>
#include <batchcast/core/inline.hpp>
#include <batchcast/core/limits.hpp>
#include <batchcast/core/printable.hpp>

#include <algorithm>
#include <charconv>

namespace batchcast::inline v0_1 {
namespace detail::group {

inline constexpr std::string_view automatic = "auto";
inline constexpr std::size_t shown_bytes_max = 80;

[[noreturn]] inline void refuse(std::string_view given, const std::string& why) {
  throw InvalidArgument(
      text("batchcast: `{}` is no group: {}. It is NAME:RANK/WORLD (`resnet:0/4` is the first of "
           "four ranks), NAME:RANK/WORLD@FIRST/JOB where a job has ranks on other nodes, or `auto` "
           "under torchrun, mpirun or srun.",
           printable(given.substr(0, shown_bytes_max)), why));
}

inline std::uint32_t number_in(std::string_view number, std::string_view given, const char* which) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc() || end != number.data() + number.size()) {
    refuse(given,
           text("{} is `{}`, not a number", which, printable(number.substr(0, shown_bytes_max))));
  }
  return value;
}

inline bool is_in_names(char c) noexcept { return c >= ' ' && c <= '~'; }

inline void check_name(std::string_view name, std::string_view given) {
  if (name.empty()) refuse(given, "it has no name");
  if (name.size() > limits::consumer_name_bytes_max) {
    refuse(given, text("its name takes {} bytes, more than {}", name.size(),
                       limits::consumer_name_bytes_max));
  }
  if (!std::all_of(name.begin(), name.end(), is_in_names)) {
    refuse(given, "its name has characters other than printable ASCII");
  }
}

/// "2/4": two numbers, of which the first is smaller.
struct NumberOf {
  std::uint32_t number = 0;
  std::uint32_t of = 0;
};

inline NumberOf number_of(std::string_view pair, std::string_view given, const char* which,
                          const char* of_which) {
  const std::size_t slash = pair.find('/');
  return {number_in(pair.substr(0, slash), given, which),
          number_in(pair.substr(slash + 1), given, of_which)};
}

/// What stands behind the last '@', if it is "FIRST/JOB". A name may contain both signs.
inline std::string_view job_in(std::string_view given) noexcept {
  const std::size_t at = given.rfind('@');
  if (at == std::string_view::npos) return {};
  const std::string_view job = given.substr(at + 1);
  const bool has_slash = job.find('/') != std::string_view::npos;
  const bool has_rank = given.substr(0, at).find('/') != std::string_view::npos;
  return has_slash && has_rank && job.find(':') == std::string_view::npos ? job
                                                                          : std::string_view();
}

}  // namespace detail::group

BATCHCAST_INLINE void detail::refuse_group_number(const std::string& number, const char* which) {
  throw InvalidArgument(text(
      "batchcast: a group's {} cannot be {}: ranks are numbered from 0, and RANK is below WORLD.",
      which, number));
}

BATCHCAST_INLINE Group::Group(std::string_view given) {
  if (given.empty()) detail::group::refuse(given, "it is empty; leave it out where there is none");
  if (given == detail::group::automatic) {
    automatic = true;
    return;
  }
  const std::string_view job = detail::group::job_in(given);
  const std::string_view here = given.substr(0, given.size() - job.size() - (job.empty() ? 0 : 1));
  // A name may contain both signs.
  const std::size_t slash = here.rfind('/');
  const std::size_t colon = here.substr(0, slash).rfind(':');
  if (slash == std::string_view::npos || colon == std::string_view::npos) {
    detail::group::refuse(given, "it has no rank and world");
  }
  detail::group::check_name(given.substr(0, colon), given);
  name = given.substr(0, colon);
  const auto [of_rank, of_world] =
      detail::group::number_of(here.substr(colon + 1), given, "its rank", "its world");
  rank = of_rank;
  world = of_world;
  if (rank >= world) {
    detail::group::refuse(given, "ranks are numbered from 0, so that RANK is below WORLD");
  }
  if (job.empty()) return;
  const auto [first, all] =
      detail::group::number_of(job, given, "its first rank of the job", "the job's world");
  job_first = first;
  job_world = all;
  if (first < all && world <= all - first) return;
  detail::group::refuse(
      given, batchcast::text("a job of {} ranks has no {} from its rank {} on, counted from 0", all,
                             world, first));
}

BATCHCAST_INLINE std::string Group::text() const {
  if (automatic) return std::string(detail::group::automatic);
  if (world == 0) return {};
  const std::string here = batchcast::text("{}:{}/{}", name, rank, world);
  return job_world == 0 ? here : batchcast::text("{}@{}/{}", here, job_first, job_world);
}

}  // namespace batchcast::inline v0_1
