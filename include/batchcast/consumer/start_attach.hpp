// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/consumer/attachment.hpp>

#include <memory>

namespace batchcast::inline v0_1::detail {

/// Joins the stream; where the options say with what, it is started first if need be, and is what
/// they ask for.
[[nodiscard]] std::shared_ptr<Attachment> attach_to_stream(const ConsumerOptions& options);

}  // namespace batchcast::inline v0_1::detail
