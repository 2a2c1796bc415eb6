// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/file_descriptor.hpp>
#include <batchcast/join/message.hpp>
#include <batchcast/producer_options.hpp>
#include <batchcast/ring/cursor.hpp>
#include <batchcast/ring/receipt.hpp>
#include "life/life_book.hpp"
#include "producer/returning_members.hpp"
#include "producer/served_rings.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>

namespace batchcast::inline v0_1::detail {

/// What a producer tells its life book about its consumers. Without a book, as of a stream that
/// cannot be made again, every call does nothing. Belongs to the door's thread.
class LifeNotes {
 public:
  /// Both must outlive it; `book` may be null.
  LifeNotes(ServedRings& rings, LifeBook* book) noexcept : rings_(rings), book_(book) {}

  /// The life before this one, whose members are to come; null if none are.
  [[nodiscard]] const Life* before() const noexcept;
  [[nodiscard]] bool is_alive(const LifeMember& member) const noexcept;

  /// That consumer was admitted there, and gets its welcome next. Returns the lock that it takes;
  /// empty for one that does not ride.
  [[nodiscard]] FileDescriptor admitted(ServedRing& ring, const Welcome& welcome,
                                        const Hello& hello, std::uint32_t pid);
  /// `ended`: of a rank, below which epoch it has ended all.
  void left(ServedRing& ring, std::uint64_t consumer_id, RankLoss how, std::uint64_t ended);
  /// Where the producer before was when it was killed, as those that come say.
  void note_death(const ReturningMembers::Decision& decision, const ProducerOptions& options);
  /// An earlier producer's rank is gone, and others of its group came.
  void note_gone(const LifeMember& rank);
  /// Notes once a second where each consumer is. `ended`: of each rank, below which epoch it has
  /// ended all.
  void look(std::uint64_t now_ns, const std::map<std::uint64_t, std::uint64_t>& ended);
  /// A consumer begins a loop, pauses, or ends an epoch for its group: the next look is not to
  /// wait.
  void hasten() noexcept { hastens_ = true; }

 private:
  ServedRings& rings_;
  LifeBook* const book_;
  std::uint64_t looked_ns_ = 0;
  bool hastens_ = false;
};

/// The place next to that position where a consumer may be that a ring waits for: what a desk says
/// is not trusted.
[[nodiscard]] constexpr std::uint64_t place_in_ring(std::uint64_t position, std::uint64_t published,
                                                    std::uint64_t capacity) noexcept {
  return std::clamp(position, saturating_sub(published, capacity), published);
}

/// Of what the epoch of that position has before it, which an earlier producer made; nothing where
/// that is not known.
[[nodiscard]] std::optional<Receipt> receipt_before(const ProducerOptions& options,
                                                    std::uint64_t position);
/// Of the first samples of an epoch, which any producer makes.
[[nodiscard]] std::optional<Receipt> receipt_of(const ProducerOptions& options, std::uint64_t epoch,
                                                std::uint64_t count);

}  // namespace batchcast::inline v0_1::detail
