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
  const auto text = [board] {
    const auto& bytes = board.progress().state_text;
    return std::string(bytes.begin(), std::find(bytes.begin(), bytes.end(), '\0'));
  };
  const std::string stream = "batchcast: stream `" + name + "` ";
  const std::string at =
      position ? " at position " + std::to_string(*position) : std::string(" between two loops");
  switch (state) {
    case StreamState::draining:
    case StreamState::finished:
      throw StreamFinished(stream + "is finished: all of its epochs were made.");
    case StreamState::stopped:
      throw Stopped(stream + "was stopped" + at + ": " + text());
    case StreamState::failed:
      // What failed it is further on: its text says where.
      throw StreamFailed(stream + "failed, with this consumer" + at + ": " + text());
    case StreamState::starting:
    case StreamState::running:
      break;
  }
  throw ProducerGone(stream + "lost its producer (pid " +
                     std::to_string(board.head().producer_pid) + " died)" + at +
                     (position ? ". Everything that it had published was delivered. Start it "
                                 "again, and join with the cursor of this position to go on."
                               : ". Start it again, and attach anew."));
}

}  // namespace batchcast::inline v0_1
