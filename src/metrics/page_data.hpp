// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "metrics/history.hpp"
#include "observe/overview.hpp"

#include <nlohmann/json.hpp>

namespace batchcast::inline v0_1::metrics {

/// What the page shows, under the names of `batchcast top --json` where that has them. `at_s`: of
/// the history's clock, at this look. Any names will do.
[[nodiscard]] nlohmann::json page_data(const observe::Overview& overview, const History& history,
                                       double at_s);

}  // namespace batchcast::inline v0_1::metrics
