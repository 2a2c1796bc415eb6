// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "simulation/scheduler.hpp"

#include <cstdint>

namespace batchcast::inline v0_1 {

[[nodiscard]] inline std::uint64_t now_ns() noexcept { return simulation::now_ns(); }

[[nodiscard]] constexpr double seconds_from_ns(std::uint64_t ns) noexcept {
  return static_cast<double>(ns) * 1e-9;
}

}  // namespace batchcast::inline v0_1
