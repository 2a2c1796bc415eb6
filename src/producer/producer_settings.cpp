// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "producer/producer_settings.hpp"

#include "producer/setting_values.hpp"

#include <batchcast/core/limits.hpp>

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>

namespace batchcast::inline v0_1::detail {
namespace {

/// What was set last. Calls of settings come one at a time.
struct Live {
  std::uint64_t stall_timeout_ms = 0;
  OnStall on_stall = OnStall::report;
  std::uint64_t ahead = 0;
  bool free_running = false;
};

OnStall on_stall_in(const std::string& value, bool may_have_heads) {
  if (value == "report") return OnStall::report;
  if (value == "evict") return OnStall::evict;
  if (value != "own_place" && value != "own-place") {
    throw InvalidArgument(
        text("`on_stall` is `report`, `evict` or `own_place`, not `{}`", printable(value)));
  }
  if (!may_have_heads) throw InvalidArgument(own_place_needs_heads);
  return OnStall::own_place;
}

}  // namespace

void add_producer_settings(Settings& settings, ServedRings& rings, const ProducerOptions& options) {
  constexpr double longest_s = static_cast<double>(limits::stall_timeout_ms_max) / 1000;
  const auto live = std::make_shared<Live>(
      Live{options.stall_timeout_ms, options.on_stall, options.ahead, options.free_running});
  settings.add({"stall_timeout",
                [live] { return seconds_text(static_cast<double>(live->stall_timeout_ms) / 1000); },
                [live, &rings](const std::string& value) {
                  const double seconds = seconds_setting("stall_timeout", value, 0, longest_s);
                  live->stall_timeout_ms = static_cast<std::uint64_t>(std::ceil(seconds * 1000));
                  rings.set_stall_policy(live->stall_timeout_ms, live->on_stall);
                }});
  settings.add({"on_stall", [live] { return std::string(name_of(live->on_stall)); },
                [live, &rings](const std::string& value) {
                  live->on_stall = on_stall_in(value, rings.heads().are_allowed());
                  rings.set_stall_policy(live->stall_timeout_ms, live->on_stall);
                }});
  settings.add({"ahead", [live] { return std::to_string(live->ahead); },
                [live, &rings](const std::string& value) {
                  live->ahead = count_setting("ahead", value, 0, limits::position_max);
                  rings.set_demand(live->ahead, live->free_running);
                }});
  settings.add({"free_running",
                [live] { return std::string(live->free_running ? "true" : "false"); },
                [live, &rings](const std::string& value) {
                  live->free_running = flag_setting("free_running", value);
                  rings.set_demand(live->ahead, live->free_running);
                }});
}

}  // namespace batchcast::inline v0_1::detail
