// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/stream_over.hpp>

#include <batchcast/core/error.hpp>
#include <batchcast/core/inline.hpp>

#include <algorithm>

namespace batchcast::inline v0_1 {

BATCHCAST_INLINE void throw_stream_over(BoardView board, StreamState state, const std::string& name,
                                        std::optional<std::uint64_t> position) {
  const auto reason = [board] {
    const auto& bytes = board.progress().state_text;
    return std::string(bytes.begin(), std::find(bytes.begin(), bytes.end(), '\0'));
  };
  const std::string stream = text("batchcast: stream `{}` ", name);
  const std::string at = position ? text(" at position {}", *position) : " between two loops";
  switch (state) {
    case StreamState::draining:
    case StreamState::finished:
      throw StreamFinished(text("{}is finished: all of its epochs were made.", stream));
    case StreamState::stopped:
      throw Stopped(text("{}was stopped{}: {}", stream, at, reason()));
    case StreamState::failed:
      // The cause lies further on in the stream: the text says where.
      throw StreamFailed(text("{}failed, with this consumer{}: {}", stream, at, reason()));
    case StreamState::starting:
    case StreamState::running:
      break;
  }
  throw ProducerGone(text("{}lost its producer (pid {} died){}{}", stream,
                          board.head().producer_pid, at,
                          position ? ". Everything that it had published was delivered. Start it "
                                     "again, and join with the cursor of this position to go on."
                                   : ". Start it again, and attach again."));
}

}  // namespace batchcast::inline v0_1
