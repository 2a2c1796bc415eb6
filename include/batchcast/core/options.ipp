// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/options.hpp>

#include <batchcast/core/inline.hpp>

#include <array>

namespace batchcast::inline v0_1 {
namespace detail::options {

inline constexpr std::array<std::string_view, 2> pace_names = {"lockstep", "free"};
inline constexpr std::array<std::string_view, 4> join_names = {"rewind", "next_epoch", "now", "at"};
inline constexpr std::array<std::string_view, 2> between_names = {"hold", "let_go"};
inline constexpr std::array<std::string_view, 3> tail_names = {"keep", "drop", "pad"};
inline constexpr std::array<std::string_view, 2> access_names = {"shared", "private"};
inline constexpr std::array<std::string_view, 4> oversize_names = {"error", "alone", "truncate",
                                                                   "drop"};
inline constexpr std::array<std::string_view, 2> miss_names = {"skip", "error"};
inline constexpr std::array<std::string_view, 2> gone_names = {"wait", "error"};
inline constexpr std::array<std::string_view, 3> stall_names = {"report", "evict", "own_place"};
inline constexpr std::array<std::string_view, 4> huge_names = {"auto", "off", "transparent",
                                                               "explicit"};
inline constexpr std::array<std::string_view, 4> wait_names = {"nothing", "space", "demand",
                                                               "consumers"};

template <class E, std::size_t n>
std::string_view look_up(const std::array<std::string_view, n>& names, E value) noexcept {
  const auto index = static_cast<std::size_t>(value);
  return index < n ? names[index] : std::string_view("?");
}

template <class E, std::size_t n>
std::optional<E> find(const std::array<std::string_view, n>& names,
                      std::string_view name) noexcept {
  for (std::size_t i = 0; i < n; ++i) {
    if (names[i] == name) return static_cast<E>(i);
  }
  return std::nullopt;
}

}  // namespace detail::options

BATCHCAST_INLINE std::string_view name_of(Pace value) noexcept {
  return detail::options::look_up(detail::options::pace_names, value);
}
BATCHCAST_INLINE std::string_view name_of(Join value) noexcept {
  return detail::options::look_up(detail::options::join_names, value);
}
BATCHCAST_INLINE std::string_view name_of(BetweenEpochs value) noexcept {
  return detail::options::look_up(detail::options::between_names, value);
}
BATCHCAST_INLINE std::string_view name_of(Tail value) noexcept {
  return detail::options::look_up(detail::options::tail_names, value);
}
BATCHCAST_INLINE std::string_view name_of(Access value) noexcept {
  return detail::options::look_up(detail::options::access_names, value);
}
BATCHCAST_INLINE std::string_view name_of(Oversize value) noexcept {
  return detail::options::look_up(detail::options::oversize_names, value);
}
BATCHCAST_INLINE std::string_view name_of(OnMiss value) noexcept {
  return detail::options::look_up(detail::options::miss_names, value);
}
BATCHCAST_INLINE std::string_view name_of(OnProducerGone value) noexcept {
  return detail::options::look_up(detail::options::gone_names, value);
}
BATCHCAST_INLINE std::string_view name_of(OnStall value) noexcept {
  return detail::options::look_up(detail::options::stall_names, value);
}
BATCHCAST_INLINE std::string_view name_of(HugePages value) noexcept {
  return detail::options::look_up(detail::options::huge_names, value);
}
BATCHCAST_INLINE std::string_view name_of(WaitsFor value) noexcept {
  return detail::options::look_up(detail::options::wait_names, value);
}

BATCHCAST_INLINE std::optional<Pace> parse_pace(std::string_view name) noexcept {
  return detail::options::find<Pace>(detail::options::pace_names, name);
}
BATCHCAST_INLINE std::optional<Oversize> parse_oversize(std::string_view name) noexcept {
  return detail::options::find<Oversize>(detail::options::oversize_names, name);
}
BATCHCAST_INLINE std::optional<Join> parse_join(std::string_view name) noexcept {
  return detail::options::find<Join>(detail::options::join_names, name);
}
BATCHCAST_INLINE std::optional<BetweenEpochs> parse_between_epochs(std::string_view name) noexcept {
  return detail::options::find<BetweenEpochs>(detail::options::between_names, name);
}

}  // namespace batchcast::inline v0_1
