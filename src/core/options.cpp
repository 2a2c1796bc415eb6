// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include <batchcast/core/options.hpp>

#include <array>

namespace batchcast {
namespace {

constexpr std::array<std::string_view, 2> pace_names = {"lockstep", "free"};
constexpr std::array<std::string_view, 4> join_names = {"rewind", "next_epoch", "now", "at"};
constexpr std::array<std::string_view, 2> between_names = {"hold", "let_go"};
constexpr std::array<std::string_view, 2> tail_names = {"keep", "drop"};
constexpr std::array<std::string_view, 2> access_names = {"shared", "private"};
constexpr std::array<std::string_view, 2> miss_names = {"skip", "error"};
constexpr std::array<std::string_view, 2> stall_names = {"report", "evict"};

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

}  // namespace

std::string_view name_of(Pace value) noexcept { return look_up(pace_names, value); }
std::string_view name_of(Join value) noexcept { return look_up(join_names, value); }
std::string_view name_of(BetweenEpochs value) noexcept { return look_up(between_names, value); }
std::string_view name_of(Tail value) noexcept { return look_up(tail_names, value); }
std::string_view name_of(Access value) noexcept { return look_up(access_names, value); }
std::string_view name_of(OnMiss value) noexcept { return look_up(miss_names, value); }
std::string_view name_of(OnStall value) noexcept { return look_up(stall_names, value); }

std::optional<Pace> parse_pace(std::string_view name) noexcept {
  return find<Pace>(pace_names, name);
}
std::optional<Join> parse_join(std::string_view name) noexcept {
  return find<Join>(join_names, name);
}
std::optional<BetweenEpochs> parse_between_epochs(std::string_view name) noexcept {
  return find<BetweenEpochs>(between_names, name);
}

}  // namespace batchcast
