// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "control/transport.hpp"

#include <batchcast/core/deadline.hpp>

#include <nlohmann/json.hpp>

#include <optional>

namespace batchcast::cli {

/// The statistics of a stream with all of its trainers, for which the producer is asked page by
/// page. What an older producer leaves out, or one that is too slow, is counted as
/// `consumers_left_out`. Nothing where no answer, or none that is an object, comes in time.
[[nodiscard]] std::optional<nlohmann::json> ask_statistics(ControlClient& producer, int timeout_ms);

/// The two halves of that, so that several producers work at the same time. False where no
/// producer listens.
[[nodiscard]] bool ask_for_statistics(ControlClient& producer, int timeout_ms);
[[nodiscard]] std::optional<nlohmann::json> take_statistics(ControlClient& producer,
                                                            const detail::Deadline& deadline);

}  // namespace batchcast::cli
