// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/log.hpp>
#include <batchcast/join/message.hpp>
#include <batchcast/producer_options.hpp>
#include "door/door_server.hpp"
#include "producer/served_rings.hpp"
#include "producer/slow_trainer.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// Which ring a consumer gets, when heads open and close, and when their trainers are asked to come
/// to the leading ring. Belongs to the door's thread.
class HeadPlaces {
 public:
  /// The first two must outlive it.
  HeadPlaces(const ProducerOptions& options, ServedRings& rings, LogCallback log)
      : options_(options), rings_(rings), log_(std::move(log)) {}

  /// Of each consumer that has a place, the ring where that is.
  using Seats = std::vector<const ServedRing*>;

  struct Chosen {
    ServedRing* ring = nullptr;
    std::optional<std::uint64_t> cursor;  ///< where it begins there; else as its hello says
  };
  /// For a consumer, or a group whose ranks all are in host memory: by the hello of its first rank.
  /// May open a head, which stays until `close_empty`.
  [[nodiscard]] std::variant<Chosen, Refusal> choose(const Hello& hello, const Seats& seats);
  /// A head for a group of an earlier producer's, whose ranks were in one. Waits for its memory. It
  /// stays until `close_empty`. Null where none opens, which the log says.
  [[nodiscard]] ServedRing* open_again(const std::string& group, std::uint64_t cursor,
                                       std::uint64_t batch_size);
  /// Closes heads that have no seat, but while `KeepsEmpty` lives.
  void close_empty(const Seats& seats);
  /// While members of an earlier producer get their places: heads are open for some that have none.
  class KeepsEmpty {
   public:
    explicit KeepsEmpty(HeadPlaces& places) noexcept : places_(places) {
      places_.keeps_empty_ = true;
    }
    ~KeepsEmpty() { places_.keeps_empty_ = false; }
    KeepsEmpty(const KeepsEmpty&) = delete;
    KeepsEmpty& operator=(const KeepsEmpty&) = delete;

   private:
    HeadPlaces& places_;
  };
  /// Call it at each tick.
  void look(const Seats& seats);
  /// Whether a trainer that asks for that cursor gets it from a head at once.
  [[nodiscard]] bool may_serve(std::uint64_t cursor) const;
  /// Whether that consumer of a head was asked to come to the leading ring, and has no place there.
  [[nodiscard]] bool awaits(ConsumerKey key) const {
    return asked_to_move_.contains(key) && !moved_.contains(key);
  }
  void note_move(ConsumerKey from, ConsumerKey to) { moved_[from] = to; }
  /// Whether that consumer has a place in the other ring, which it goes on in.
  [[nodiscard]] bool has_moved(ConsumerKey key) const { return moved_.contains(key); }

  // With `--on-stall own_place`, of trainers in the leading ring.

  /// At each tick. The one for which the others waited.
  [[nodiscard]] std::optional<SlowTrainerWatch::Slow> look_for_slow();
  /// Asks that trainer to go on in a head.
  void offer_own_place(const SlowTrainerWatch::Slow& slow);
  /// Whether it may come now. A trainer that answers much later was not slow, but stood still.
  [[nodiscard]] bool has_offer(ConsumerKey key) const;
  /// A head at the cursor of its hello. It stays until `close_empty`.
  [[nodiscard]] std::variant<Chosen, Refusal> choose_own_place(const Hello& hello);
  void note_own_place(ConsumerKey in_head);
  /// That consumer has gone.
  void forget(ConsumerKey key);

 private:
  [[nodiscard]] std::variant<Chosen, Refusal> choose_head(const Hello& hello, std::uint64_t cursor);
  [[nodiscard]] std::variant<Chosen, Refusal> open_head(const Hello& hello, std::uint64_t cursor,
                                                        const std::string& reason);
  [[nodiscard]] std::optional<Refusal> refusal_if_full(const Hello& hello,
                                                       const Seats& seats) const;
  /// The ranks of a group that have no place but in a head.
  struct GroupInHead {
    std::uint64_t lowest = 0;  ///< where the last of them is
    std::uint32_t ranks = 0;
    [[nodiscard]] bool may_move(const ConsumerStatus& rank, std::uint64_t oldest,
                                std::uint64_t newer_half) const noexcept;
  };
  /// By the names of the groups.
  [[nodiscard]] std::map<std::string, GroupInHead> groups_of(
      const std::vector<ConsumerStatus>& consumers) const;
  void fetch_leading_ring();
  void bring_to_leading_ring();
  [[nodiscard]] bool stays_in_own_place(ConsumerKey key, std::uint64_t now_ns) const;
  [[nodiscard]] std::string stream_text() const;

  const ProducerOptions& options_;
  ServedRings& rings_;
  const LogCallback log_;
  std::map<ConsumerKey, std::uint64_t> asked_to_move_;  ///< of heads: when last
  std::map<ConsumerKey, ConsumerKey> moved_;            ///< to which place in the other ring
  SlowTrainerWatch slow_trainers_;
  std::map<ConsumerKey, std::uint64_t> offered_ns_;    ///< of the leading ring: an own place
  std::map<ConsumerKey, std::uint64_t> own_since_ns_;  ///< of heads
  bool told_of_no_place_ = false;
  bool keeps_empty_ = false;
};

}  // namespace batchcast::inline v0_1::detail
