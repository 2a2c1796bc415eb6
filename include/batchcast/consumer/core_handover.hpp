// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/consumer/consumer_core.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace batchcast::inline v0_1::detail {

/// What a Rider asks of the ConsumerCores of two lives of a stream. The consuming thread calls it.
struct CoreHandover {
  /// Whether it would go on with the next producer of the stream.
  [[nodiscard]] static bool rides(const ConsumerOptions& options, BoardView board) noexcept;
  [[nodiscard]] static bool rides(const ConsumerCore& core) noexcept {
    return rides(core.options(), core.board());
  }
  /// Whether its producer is dead, and left the stream running.
  [[nodiscard]] static bool has_lost_producer(const ConsumerCore& core) noexcept;
  /// The ring that it reads, as a hello names it: `host`, or a GPU's UUID.
  [[nodiscard]] static std::string ring_of(const ConsumerCore& core);
  /// What its hello to the next producer says.
  [[nodiscard]] static Resumes resumes(const ConsumerCore& core) noexcept;
  /// The options with which it joins the next producer: behind the last whole batch of that size.
  [[nodiscard]] static ConsumerOptions options_to_resume(const ConsumerCore& core,
                                                         std::uint64_t batch_size);
  /// Changes when it is asked to join another ring of its producer, which has its next sample too.
  [[nodiscard]] static std::uint32_t moves(const ConsumerCore& core) noexcept;
  /// Whether it may change over now, between two batches of that size.
  [[nodiscard]] static bool may_move(const ConsumerCore& core, std::uint64_t batch_size) noexcept;
  /// It has changed over: keeps what the trainer holds, and gives its place up.
  static void leave_ring(ConsumerCore& core) noexcept;
  /// What is published is drained: keeps what the trainer holds, and gives the ring's memory up.
  /// From then on there are no batches here.
  static void outlive_ring(ConsumerCore& core) noexcept;
  /// After that: the memory of a ring on a GPU goes once nothing there is held.
  static void give_device_memory_back(ConsumerCore& core) noexcept;
  /// A consumer of `last`'s stream that the next producer has let in. Throws what attaching throws
  /// once it has joined; then `joined` is as before, and holds the place there.
  [[nodiscard]] static std::shared_ptr<ConsumerCore> attach_again(const ConsumerCore& last,
                                                                  Joined& joined);
  /// `next` goes on, before its first batch, where that consumer of an earlier ring stands.
  static void take_over(ConsumerCore& next, const ConsumerCore& last);
  /// Whether it is a rank whose group, if it breaks, breaks at once: RankReader::epoch_at_stake.
  [[nodiscard]] static bool needs_group(const ConsumerCore& core) noexcept;
  /// Of a rank that `next`'s producer has let in, and that drains `last` meanwhile: throws
  /// GroupBroken where that producer knows that its group is broken.
  static void check_group(ConsumerCore& next, const ConsumerCore& last);
  /// Of a rank: `next`'s producer hears which epochs it has ended.
  static void tell_ends_again(ConsumerCore& next, const ConsumerCore& last) noexcept;
};

}  // namespace batchcast::inline v0_1::detail
