// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/error.hpp>
#include <batchcast/core/printable.hpp>
#include <batchcast/core/text.hpp>

#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <system_error>

// Values of settings from the texts that commands carry, and back.
namespace batchcast::inline v0_1::detail {

/// Throws InvalidArgument for anything but a whole number from `least` to `most`.
[[nodiscard]] inline std::uint64_t count_setting(std::string_view name, const std::string& value,
                                                 std::uint64_t least, std::uint64_t most) {
  std::uint64_t count = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), count);
  const bool is_whole = error == std::errc() && end == value.data() + value.size();
  if (is_whole && count >= least && count <= most) return count;
  throw InvalidArgument(
      text("`{}` is a whole number from {} to {}, not `{}`", name, least, most, printable(value)));
}

/// Throws InvalidArgument for anything but a number that is above `above` and at most `most`.
[[nodiscard]] inline double seconds_setting(std::string_view name, const std::string& value,
                                            double above, double most) {
  double seconds = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), seconds);
  const bool is_whole = error == std::errc() && end == value.data() + value.size();
  if (is_whole && seconds > above && seconds <= most) return seconds;
  throw InvalidArgument(text("`{}` is a number of seconds above {}, and at most {}, not `{}`", name,
                             static_cast<std::int64_t>(above), static_cast<std::uint64_t>(most),
                             printable(value)));
}

/// Throws InvalidArgument for anything but `true` and `false`.
[[nodiscard]] inline bool flag_setting(std::string_view name, const std::string& value) {
  if (value == "true" || value == "false") return value == "true";
  throw InvalidArgument(text("`{}` is true or false, not `{}`", name, printable(value)));
}

[[nodiscard]] inline std::string seconds_text(double seconds) {
  std::array<char, 32> shown{};
  std::snprintf(shown.data(), shown.size(), "%.9g", seconds);
  return shown.data();
}

}  // namespace batchcast::inline v0_1::detail
