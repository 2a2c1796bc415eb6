// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/board.hpp>
#include <batchcast/ring/cursor.hpp>
#include "ring/writer/joining.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace batchcast::inline v0_1 {

/// How far the stream is in its life, and how it ended. It writes the state on the board. Belongs
/// to the RingWriter, under its admission lock.
class StreamOutcome {
 public:
  explicit StreamOutcome(Board board) noexcept : board_(board) {}

  /// Whether the first publication is done.
  [[nodiscard]] bool has_published() const noexcept { return has_published_; }
  void begin_publishing() noexcept;

  /// Nothing is published any more: the stream is finished, stopped or failed.
  [[nodiscard]] bool is_over() const noexcept { return outcome_ != StreamState::running; }
  /// The stream came to its end; consumers may still read.
  [[nodiscard]] bool is_finished() const noexcept { return outcome_ == StreamState::finished; }
  /// Call it once, with `finished`, `stopped` or `failed`.
  void end(StreamState outcome, const std::string& text, std::uint64_t end_position) noexcept;

  /// The producer no longer waits for consumers that still read.
  [[nodiscard]] bool is_drain_cancelled() const noexcept { return drain_cancelled_; }
  void cancel_drain() noexcept { drain_cancelled_ = true; }
  /// Every consumer has read all: no further consumer is admitted.
  void close() noexcept;
  [[nodiscard]] bool is_closed() const noexcept { return closed_; }

  /// Why no consumer is admitted, for any request.
  [[nodiscard]] std::optional<NotAdmitted> refusal() const;
  /// The stream's state as consumers and lists see it.
  [[nodiscard]] StreamState state() const noexcept;

 private:
  Board board_;
  StreamState outcome_ = StreamState::running;  ///< or what the stream ended in
  std::string text_;
  bool has_published_ = false;
  bool closed_ = false;
  bool drain_cancelled_ = false;
};

}  // namespace batchcast::inline v0_1
