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

[[noreturn]] inline void refuse(std::string_view text, const std::string& why) {
  throw InvalidArgument("batchcast: `" + printable(text.substr(0, shown_bytes_max)) +
                        "` is no group: " + why +
                        ". It is NAME:RANK/WORLD (`resnet:0/4` is the first of four ranks), or "
                        "`auto` under torchrun, mpirun or srun.");
}

inline std::uint32_t number_in(std::string_view number, std::string_view text, const char* which) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc() || end != number.data() + number.size()) {
    refuse(text, std::string(which) + " is `" + printable(number.substr(0, shown_bytes_max)) +
                     "`, not a number");
  }
  return value;
}

inline bool is_in_names(char c) noexcept { return c >= ' ' && c <= '~'; }

inline void check_name(std::string_view name, std::string_view text) {
  if (name.empty()) refuse(text, "it has no name");
  if (name.size() > limits::consumer_name_bytes_max) {
    refuse(text, "its name takes " + std::to_string(name.size()) + " bytes, more than " +
                     std::to_string(limits::consumer_name_bytes_max));
  }
  if (!std::all_of(name.begin(), name.end(), is_in_names)) {
    refuse(text, "its name has characters other than printable ASCII");
  }
}

}  // namespace detail::group

BATCHCAST_INLINE void detail::refuse_group_number(const std::string& number, const char* which) {
  throw InvalidArgument("batchcast: a group's " + std::string(which) + " cannot be " + number +
                        ": ranks are numbered from 0, and RANK is below WORLD.");
}

BATCHCAST_INLINE Group::Group(std::string_view text) {
  if (text.empty()) detail::group::refuse(text, "it is empty; leave it out where there is none");
  if (text == detail::group::automatic) {
    automatic = true;
    return;
  }
  // A name may have both signs in it.
  const std::size_t slash = text.rfind('/');
  const std::size_t colon = text.substr(0, slash).rfind(':');
  if (slash == std::string_view::npos || colon == std::string_view::npos) {
    detail::group::refuse(text, "it has no rank and world");
  }
  detail::group::check_name(text.substr(0, colon), text);
  name = text.substr(0, colon);
  rank = detail::group::number_in(text.substr(colon + 1, slash - colon - 1), text, "its rank");
  world = detail::group::number_in(text.substr(slash + 1), text, "its world");
  if (rank < world) return;
  detail::group::refuse(text, "ranks are numbered from 0, so that RANK is below WORLD");
}

BATCHCAST_INLINE std::string Group::text() const {
  if (automatic) return std::string(detail::group::automatic);
  return world == 0 ? std::string()
                    : name + ":" + std::to_string(rank) + "/" + std::to_string(world);
}

}  // namespace batchcast::inline v0_1
