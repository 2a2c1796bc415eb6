// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/consumer/consumer_core.hpp>

#include <memory>

namespace batchcast::inline v0_1::detail {

/// Starts the stream that the options name where no producer serves it, and attaches to it: it is
/// what they ask for.
[[nodiscard]] std::shared_ptr<ConsumerCore> attach_to_started(const ConsumerOptions& options);

/// Starts it in the same way, and does not attach.
void start_alone(const ConsumerOptions& options, int timeout_ms);

/// From now on consumers of this program can start their streams. True.
[[gnu::visibility("hidden")]] bool bring_start() noexcept;

}  // namespace batchcast::inline v0_1::detail
