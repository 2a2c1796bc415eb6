// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/producer.hpp>
#include "producer/served_rings.hpp"

namespace batchcast::inline v0_1::detail {

/// What a producer reports about its stream, rings and consumers. `stopped`: the producer no longer
/// waits for consumers that drain.
[[nodiscard]] ProducerStats statistics_of(const ServedRings& rings, double samples_per_second,
                                          bool stopped);
/// The state of that.
[[nodiscard]] StreamState state_of(const ServedRings& rings, bool stopped);

}  // namespace batchcast::inline v0_1::detail
