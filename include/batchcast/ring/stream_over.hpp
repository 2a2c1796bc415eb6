// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/board.hpp>
#include <batchcast/ring/layout.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace batchcast::inline v0_1 {

/// Throws what that end of a stream means for its consumers: StreamFinished, Stopped, StreamFailed,
/// or ProducerGone for a state that is no end. `position` is where the consumer stands; a consumer
/// between two loops of `let_go` has none.
[[noreturn]] void throw_stream_over(BoardView board, StreamState state, const std::string& stream,
                                    std::optional<std::uint64_t> position);

}  // namespace batchcast::inline v0_1
