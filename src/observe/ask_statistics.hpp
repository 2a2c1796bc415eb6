// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "control/transport.hpp"

#include <nlohmann/json.hpp>

#include <exception>
#include <optional>
#include <vector>

namespace batchcast::inline v0_1::observe {

/// What came of asking one producer.
struct AskedStatistics {
  /// Nothing where no answer, or none that is an object, came in time.
  std::optional<nlohmann::json> answer;
  /// Why it could not be asked, as where the process may open no more files. Null: it could.
  std::exception_ptr failure;
};

/// The statistics of streams with all of their trainers, for which producers are asked page by
/// page. What an older producer leaves out, or one that is too slow, is counted as
/// `consumers_left_out`. All producers work at the same time: one that hangs takes nothing from the
/// others. One result for each client, in their order; a null one is not asked.
[[nodiscard]] std::vector<AskedStatistics> ask_statistics(
    const std::vector<ControlClient*>& producers, int timeout_ms);

}  // namespace batchcast::inline v0_1::observe
