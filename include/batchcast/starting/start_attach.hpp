// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/consumer/consumer_core.hpp>

#include <memory>

namespace batchcast::inline v0_1::detail {

/// Starts the stream that the options name where no producer serves it, and attaches to it: it is
/// what they ask for.
[[nodiscard]] std::shared_ptr<ConsumerCore> attach_to_started(const ConsumerOptions& options);

/// From now on consumers of this program can start their streams. True.
bool bring_start() noexcept;

}  // namespace batchcast::inline v0_1::detail
