// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/log.hpp>
#include <batchcast/loan.hpp>
#include <batchcast/producer_options.hpp>
#include <batchcast/ring/receipt.hpp>
#include "producer/head_maker.hpp"
#include "producer/work_shares.hpp"
#include "served/host_ring.hpp"
#include "served/served_ring.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// The heads of a pure stream: rings in host memory at other places than the leading ring. They are
/// for trainers whose samples that ring no longer has. The same workers fill all of them. Each ring
/// follows the protocol by itself. `open`, `close` and `look` belong to the door's thread; any
/// thread may call the rest.
class Heads {
 public:
  /// All must outlive it. `first_consumer_id`: no other ring has ids from there on.
  Heads(const ProducerOptions& options, HostRing& leading, std::uint64_t first_consumer_id,
        LogCallback log, OnEvicted on_evicted);

  /// Whether the stream may have any.
  [[nodiscard]] bool are_allowed() const noexcept { return options_.heads > 1; }
  /// Those that are open. They live at least as long as the caller keeps them.
  [[nodiscard]] std::vector<std::shared_ptr<HostRing>> list() const;
  /// Whether another one may be opened.
  [[nodiscard]] bool has_free() const;
  [[nodiscard]] bool is_head(const ServedRing& ring) const;
  using Incarnation = std::array<std::uint8_t, 16>;
  /// Whether a head has or had it.
  [[nodiscard]] bool had(const Incarnation& incarnation) const;

  struct Wanted {
    std::uint64_t position = 0;
    std::uint64_t batch_size = 1;        ///< of its first trainer, or of the whole group
    std::optional<Receipt> before = {};  ///< of that epoch, up to the position
  };
  struct NotOpen {
    bool comes = false;  ///< its memory is being made: ask again
    std::string why = {};
  };
  /// Throws SystemError.
  [[nodiscard]] std::variant<std::shared_ptr<HostRing>, NotOpen> open(const Wanted& wanted);
  /// The same, once its memory is made.
  [[nodiscard]] std::variant<std::shared_ptr<HostRing>, NotOpen> open_now(const Wanted& wanted);
  /// Whether the memory of one is being made.
  [[nodiscard]] bool is_making() const { return maker_.is_making(); }
  /// No consumer is attached there. Its memory is given back with the last loan.
  void close(const HostRing& head);
  /// Call it at each tick.
  void look(std::uint64_t now_ns);

  /// Lends samples of the ring whose turn it is. `ended` once no ring has any to make.
  [[nodiscard]] Claim lend(std::uint64_t samples_max, int timeout_ms, LoanContents& loan);
  /// That loan is back.
  void note_back(const LoanContents& loan) noexcept;

  /// Whether members of an earlier producer's heads are to come. Meanwhile loans do not end: a head
  /// may open for one of them. Any thread may call it.
  void await_members(bool are_to_come) noexcept { awaits_members_.store(are_to_come); }

  /// No loans are made any more: heads that have samples to make end.
  void finish() noexcept;
  /// The stream was stopped, or has failed.
  void stop(const std::string& text) noexcept;
  void fail(const std::string& text) noexcept;
  /// When the producer is taken down.
  void drop_all() noexcept;

  /// For the heads that are open, and those to come.
  void set_stall_policy(std::uint64_t timeout_ms, OnStall on_stall);
  /// With `own_place`: how long the others wait for half of the time until a trainer gets a head.
  /// It stays there as long at least. Nothing without.
  [[nodiscard]] std::optional<std::uint64_t> own_place_window_ns() const;
  void set_demand(std::uint64_t ahead);

  /// Of the workers' time, what that ring got in the last second; 0 where there are no heads.
  [[nodiscard]] double share(const ServedRing& ring) const;
  struct Totals {
    std::uint64_t samples = 0;  ///< made and published
    std::uint64_t delivered = 0;
  };
  /// Of heads that were closed.
  [[nodiscard]] Totals of_closed() const;
  /// Made and published by all heads, closed ones too.
  [[nodiscard]] std::uint64_t samples_published() const;

 private:
  struct Head;
  using List = std::vector<std::shared_ptr<HostRing>>;
  using Snapshot = std::shared_ptr<const List>;

  /// Those that are open. It allocates nothing.
  [[nodiscard]] Snapshot snapshot() const;
  void set_list(List list);
  [[nodiscard]] Claim lend_of(const List& heads, std::uint64_t samples_max, int timeout_ms,
                              LoanContents& loan);
  [[nodiscard]] Claim wait_for_room(HostRing* ring, std::uint64_t samples, int timeout_ms,
                                    LoanContents& loan);
  [[nodiscard]] std::string free_name() const;
  [[nodiscard]] bool end_if_over(const List& heads);
  [[nodiscard]] std::uint64_t memory_for_batches_of(std::uint64_t batch_size) const;
  void begin_making(std::uint64_t batch_size);

  const ProducerOptions& options_;
  HostRing& leading_;
  const std::uint64_t first_consumer_id_;
  const LogCallback log_;
  const OnEvicted on_evicted_;
  const Snapshot none_ = std::make_shared<const List>();
  std::atomic<std::size_t> open_{0};
  std::atomic<bool> awaits_members_{false};

  mutable std::mutex mutex_;  ///< of what follows
  Snapshot list_ = none_;     ///< each change makes another one
  bool loans_are_over_ = false;
  std::uint64_t opened_ = 0;  ///< so far
  std::set<Incarnation> incarnations_;
  Totals of_closed_;
  std::uint64_t stall_timeout_ms_;
  OnStall on_stall_;
  std::uint64_t ahead_;

  mutable std::mutex sharing_;  ///< of the next one
  WorkShares shares_;
  std::mutex waiting_;  ///< of a claimer that waits for room in one of several rings
  HeadMaker maker_;     ///< last: its thread uses the others
};

}  // namespace batchcast::inline v0_1::detail
