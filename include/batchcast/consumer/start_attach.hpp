// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/consumer/consumer_core.hpp>

#include <memory>

namespace batchcast::inline v0_1::detail {

/// Joins the stream. Where the options name a source, the stream is started first if need be, and
/// is what they ask for.
[[nodiscard]] std::shared_ptr<ConsumerCore> attach_to_stream(const ConsumerOptions& options);

}  // namespace batchcast::inline v0_1::detail
