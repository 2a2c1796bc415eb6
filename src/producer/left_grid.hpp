// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/grid.hpp>
#include <batchcast/producer_options.hpp>

namespace batchcast::inline v0_1::detail {

/// By which grid a producer with these options begins. Trainers of an earlier producer may wait for
/// the next one. Then it is theirs, if it has as many samples; else `whole`.
[[nodiscard]] Grid grid_to_begin_with(const ProducerOptions& options, const Grid& whole);

}  // namespace batchcast::inline v0_1::detail
