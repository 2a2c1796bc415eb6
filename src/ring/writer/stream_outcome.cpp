// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "ring/writer/stream_outcome.hpp"

#include <algorithm>
#include <cstring>

namespace batchcast::inline v0_1 {

void StreamOutcome::begin_publishing() noexcept {
  if (has_published_) return;
  has_published_ = true;
  ordered::store_state(board_.progress(), StreamState::running);
}

void StreamOutcome::end(StreamState outcome, const std::string& text,
                        std::uint64_t end_position) noexcept {
  outcome_ = outcome;
  text_ = text;
  BoardProgress& board = board_.progress();
  const std::size_t length = std::min(text.size(), board.state_text.size() - 1);
  std::memcpy(board.state_text.data(), text.data(), length);
  board.state_text[length] = '\0';
  ordered::set(board.outcome, static_cast<std::uint32_t>(outcome));
  ordered::set(board.end_position, end_position);
  ordered::store_state(board, outcome == StreamState::finished ? StreamState::draining : outcome);
}

void StreamOutcome::close() noexcept {
  closed_ = true;
  if (is_finished()) ordered::store_state(board_.progress(), StreamState::finished);
}

std::optional<NotAdmitted> StreamOutcome::refusal() const {
  if (outcome_ == StreamState::stopped) return NotAdmitted{NotAdmitted::Reason::stopped, text_};
  if (outcome_ == StreamState::failed) return NotAdmitted{NotAdmitted::Reason::failed, text_};
  if (closed_) {
    return NotAdmitted{NotAdmitted::Reason::finished, "its last epoch is made and was read"};
  }
  if (drain_cancelled_) return NotAdmitted{NotAdmitted::Reason::stopped, "its producer is ending"};
  return std::nullopt;
}

StreamState StreamOutcome::state() const noexcept {
  const BoardView& board = board_;
  const StreamState state = ordered::load_state(board.progress());
  // Consumers may still read, but the producer does not wait for them.
  if (drain_cancelled_ && state == StreamState::draining) return StreamState::stopped;
  return state;
}

}  // namespace batchcast::inline v0_1
