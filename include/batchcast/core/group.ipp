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
           "four ranks), or `auto` under torchrun, mpirun or srun.",
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
  // A name may contain both signs.
  const std::size_t slash = given.rfind('/');
  const std::size_t colon = given.substr(0, slash).rfind(':');
  if (slash == std::string_view::npos || colon == std::string_view::npos) {
    detail::group::refuse(given, "it has no rank and world");
  }
  detail::group::check_name(given.substr(0, colon), given);
  name = given.substr(0, colon);
  rank = detail::group::number_in(given.substr(colon + 1, slash - colon - 1), given, "its rank");
  world = detail::group::number_in(given.substr(slash + 1), given, "its world");
  if (rank < world) return;
  detail::group::refuse(given, "ranks are numbered from 0, so that RANK is below WORLD");
}

BATCHCAST_INLINE std::string Group::text() const {
  if (automatic) return std::string(detail::group::automatic);
  return world == 0 ? "" : batchcast::text("{}:{}/{}", name, rank, world);
}

}  // namespace batchcast::inline v0_1
