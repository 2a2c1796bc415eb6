// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/consumer/producer_link.hpp>
#include <batchcast/consumer_options.hpp>
#include <batchcast/ring/board.hpp>
#include <batchcast/ring/reader.hpp>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>

namespace batchcast::inline v0_1::detail {

/// Whether a consumer takes part in its stream at the moment. With `between_epochs = let_go` it
/// pauses between its loops and joins again for each. The pause, and the leave at the end, wait
/// until the consumer holds no lease. The consuming thread makes all calls, except for
/// `leases_are_back`.
class Membership {
 public:
  /// What it is given must outlive it. `in_loop`: the producer let it into a loop, as it does all
  /// that hold their places.
  Membership(const ConsumerOptions& options, ProducerLink& link, BoardView board,
             RingReader& reader, bool in_loop = false);

  /// Where its next loop begins, with `let_go`.
  [[nodiscard]] Join next_join() const noexcept { return join_; }
  /// Whether the place was given up, or will be with the last lease.
  [[nodiscard]] bool has_let_go() const noexcept;

  enum class Loop { joined, stream_is_over, timed_out };
  enum class For { loop, look };
  /// Call it before a loop of a consumer that has paused: joins again, and moves the reader there.
  /// Takes its time off the time-out. The next call continues one that timed out. A look ends as a
  /// loop does; with join = at, the first loop still begins at the cursor.
  [[nodiscard]] Loop begin_loop(int& timeout_ms, For reason);
  /// Gives up a loop that was asked for and has not begun, so that the stream does not wait for it.
  void give_up_loop() noexcept;
  /// For a consumer that holds its place and no lease: moves to another place without leaving the
  /// stream. False where the producer cannot do that: the consumer stays. Nothing at the time-out:
  /// the next call continues to wait. Throws Refused, StreamFinished.
  [[nodiscard]] std::optional<bool> move_to(RowPlace cursor, int timeout_ms);
  /// Asks the producer for a number of batches. Nothing where it does not know, or does not answer.
  [[nodiscard]] std::optional<std::uint64_t> count_batches(const CountBatches& request);
  /// Call it after a loop: a consumer with `let_go` pauses as soon as it holds no lease.
  void end_loop() noexcept;
  /// Leaves the stream for good as soon as the consumer holds no lease.
  void leave() noexcept;

  /// From any thread: the reader said that its last lease was given back.
  void leases_are_back() noexcept {
    // Set before it is asked whether a lease is held, under the reader's mutex. So a thread that
    // gave back the lease that was in the way finds it set.
    if (when_idle_.load(std::memory_order_relaxed) != WhenIdle::stay) act_if_idle();
  }

 private:
  enum class WhenIdle : std::uint8_t { stay, pause, leave };

  void act_if_idle() noexcept;
  void act_locked() noexcept;  // with the mutex
  [[nodiscard]] bool skip_stale_answers(int& timeout_ms);
  [[noreturn]] void throw_door_closed() const;

  const ConsumerOptions& options_;
  ProducerLink& link_;
  BoardView board_;
  RingReader& reader_;
  Join join_;                        ///< where the next loop begins
  bool asked_ = false;               ///< for a loop, and the producer has not answered
  std::uint32_t stale_answers_ = 0;  ///< to come, of loops that were given up before they began

  mutable std::mutex mutex_;  ///< of what follows, and of what is sent to the door meanwhile
  bool paused_;               ///< the producer knows
  std::atomic<WhenIdle> when_idle_{WhenIdle::stay};  ///< written with the mutex
};

}  // namespace batchcast::inline v0_1::detail
