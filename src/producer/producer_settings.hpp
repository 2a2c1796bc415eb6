// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/producer_options.hpp>
#include "producer/served_rings.hpp"
#include "producer/settings.hpp"

namespace batchcast::inline v0_1::detail {

/// Why `on_stall` cannot be `own_place`.
inline constexpr const char* own_place_needs_heads =
    "`on_stall` is `own_place` where the stream may have heads: it has a recipe, epochs of one "
    "length, samples without axes, and `heads` above 1";

/// Adds what every producer can change: `ahead`, `free_running`, `on_stall` and `stall_timeout`.
/// The rings must outlive the settings.
void add_producer_settings(Settings& settings, ServedRings& rings, const ProducerOptions& options);

}  // namespace batchcast::inline v0_1::detail
