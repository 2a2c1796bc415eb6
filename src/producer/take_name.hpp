// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "stream/stream_directory.hpp"

namespace batchcast::inline v0_1::detail {

/// Gives a producer the name of its stream. Where another one has it whose stream is over, waits up
/// to two seconds for that one's end. Throws what StreamDirectory throws.
[[nodiscard]] StreamDirectory take_name(const StreamDirectory::Options& options);

}  // namespace batchcast::inline v0_1::detail
