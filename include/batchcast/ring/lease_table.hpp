// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/board.hpp>
#include <batchcast/ring/cursor.hpp>
#include <batchcast/ring/reader_host.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace batchcast::inline v0_1 {

/// Which positions a reader still reads, and what it releases. Leases lie one after the other and
/// come back in any order. `released` on the desk is where the oldest held lease starts, or where
/// the reader stands if none is held. If the producer sleeps for that, it is woken.
///
/// Any thread may call `give_back` and `none_held`; the rest belongs to the reader's thread. Board
/// and desk must outlive it.
class LeaseTable {
 public:
  LeaseTable(BoardView board, Desk& desk);

  LeaseTable(const LeaseTable&) = delete;
  LeaseTable& operator=(const LeaseTable&) = delete;

  /// The producer let the reader in at `position`, where `released` is. `skipping`: as on the desk.
  void restart(std::uint64_t position, bool skipping) noexcept;

  /// Leases the samples from `position` on; the reader then stands at `passed`. Returns its number.
  [[nodiscard]] std::uint64_t add(std::uint64_t position, std::uint64_t passed);
  /// Releases what comes before the oldest lease. A rank's part begins later than the batch, and it
  /// would wait for samples that it does not release itself: `in_the_way_of` counts from its part.
  void release_before_oldest() noexcept;
  /// Gives a lease back. True if none is held any more.
  bool give_back(std::uint64_t number) noexcept;
  /// The reader stands at `position` now: below it, it needs only what is leased.
  void pass(std::uint64_t position) noexcept;
  /// Skips the rest of `epoch`, whose end is not known, once the last lease is back.
  void skip(std::uint64_t epoch) noexcept;
  /// That epoch's end is known: the reader stands there now.
  void end_skip(std::uint64_t position) noexcept;

  [[nodiscard]] bool none_held() const noexcept;
  /// Whether leases that are held keep the reader from skipping the rest of an epoch.
  [[nodiscard]] bool hold_up_skip() const noexcept;

  struct Held {
    std::uint64_t leases;
    std::uint64_t oldest;  ///< position
  };
  /// What is held now. `oldest` is where the reader stands if no lease is.
  [[nodiscard]] Held held() const noexcept;
  /// What is held, if that keeps samples below `end` out of the ring for good: they would wait for
  /// themselves. Nothing if the host says that leases come back.
  [[nodiscard]] std::optional<Held> in_the_way_of(std::uint64_t end, ReaderHost& host) const;

 private:
  struct Lease {
    std::uint64_t start;
    std::uint64_t since_ns;
    bool returned;
  };
  enum class Skip { none, wanted, announced };

  // The mutex is held.
  [[nodiscard]] Lease& lease(std::uint64_t number) noexcept {
    return leases_[number % leases_.size()];
  }
  void grow();
  void let_go() noexcept;

  BoardView board_;
  Desk& desk_;
  const std::uint64_t consumer_id_;
  const std::uint64_t capacity_;

  mutable Mutex mutex_;        ///< of all below
  std::vector<Lease> leases_;  ///< circular; leases first_ … next_ - 1 are in it
  std::uint64_t first_ = 0;
  std::uint64_t next_ = 0;
  std::uint64_t held_ = 0;
  std::uint64_t passed_ = 0;  ///< where the reader stands
  std::uint64_t released_ = 0;
  Skip skip_ = Skip::none;
  std::uint64_t skipped_epoch_ = 0;
};

}  // namespace batchcast::inline v0_1
