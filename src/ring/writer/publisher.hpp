// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "ring/writer/writer_state.hpp"

#include <cstdint>
#include <string>

namespace batchcast::inline v0_1 {

/// Moves the stream on: publishes filled samples, ends epochs and the stream, jumps. Belongs to the
/// RingWriter, which holds the admission lock around each call. Afterwards the RingWriter wakes the
/// consumers of `wakes`.
class Publisher {
 public:
  explicit Publisher(WriterState& state) noexcept : state_(state) {}

  void publish(const Ticket& ticket, const Receipt& receipt, PendingWakes& wakes);
  /// Samples that were published without rows get none, once it is their turn.
  void settle() noexcept;
  /// Publishes filled samples, unless the stream is over or waits for its first trainers.
  void advance(PendingWakes& wakes);
  /// Takes a ticket back. Returns what is wrong if that leaves a hole in the stream, else nothing.
  [[nodiscard]] std::string give_back(const Ticket& ticket);

  void end_epoch(PendingWakes& wakes);
  void finish(PendingWakes& wakes);
  /// Stops publishing. The stream was not over before.
  void end_stream(StreamState outcome, const std::string& text, PendingWakes& wakes) noexcept;

  void stop(const std::string& text, PendingWakes& wakes) noexcept;

  /// Continues at `target`. No ticket is out.
  void jump(std::uint64_t target) noexcept;
  /// Continues at `cursor`, where the stream's only consumer begins. Samples of tickets that are
  /// out will not be published, and no other ticket is granted until these are back.
  void go_back(std::uint64_t cursor);
  /// The same, for trainers of other rings, which come here.
  void go_to(std::uint64_t position);
  void restart_at(std::uint64_t position, std::uint64_t epoch, std::uint64_t epoch_start,
                  PendingWakes& wakes);

 private:
  void leave_for(std::uint64_t position);
  [[nodiscard]] bool take_abandoned(const Ticket& ticket) noexcept;
  [[nodiscard]] bool is_inside_epoch() const noexcept;
  void close_epoch();

  WriterState& state_;
};

}  // namespace batchcast::inline v0_1
