// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/board.hpp>
#include <batchcast/ring/receipt.hpp>

#include <cstdint>
#include <deque>
#include <optional>

namespace batchcast::inline v0_1 {

/// The producer's book of epochs: which positions belong to which, what was published of each, and
/// the announcements on the board. Epochs have one known length, or end when `end_current` says so.
/// Belongs to the RingWriter, under its admission lock.
class EpochLedger {
 public:
  EpochLedger(Board board, std::uint64_t samples_per_epoch, std::uint64_t epochs,
              std::uint64_t start = 0) noexcept;

  [[nodiscard]] bool length_known() const noexcept { return samples_per_epoch_ != 0; }

  /// The epoch that holds `position`; an end belongs to the next epoch. Positions before the oldest
  /// epoch remembered count as in that one.
  [[nodiscard]] std::uint64_t epoch_of(std::uint64_t position) const noexcept;
  [[nodiscard]] std::uint64_t start_of(std::uint64_t epoch) const noexcept;
  /// Where the oldest epoch remembered begins.
  [[nodiscard]] std::uint64_t known_from() const noexcept {
    return length_known() ? 0 : starts_.front();
  }
  /// The epoch's end; nothing while that is not known.
  [[nodiscard]] std::optional<std::uint64_t> end_of(std::uint64_t epoch) const noexcept;

  /// First epoch start ≥ `position` whose announcement is still on the board or to come. Nothing
  /// where that start is not known yet (it is the end of the current epoch).
  [[nodiscard]] std::optional<std::uint64_t> first_start_from(
      std::uint64_t position) const noexcept;

  /// End of the whole stream: limits::position_max until the number of epochs is known.
  [[nodiscard]] std::uint64_t stream_end() const noexcept { return stream_end_; }
  void end_stream_at(std::uint64_t position) noexcept { stream_end_ = position; }

  /// Highest position that may be handed out: every announcement that a consumer at `lowest` may
  /// still read has to stay on the board.
  [[nodiscard]] std::uint64_t table_limit(std::uint64_t lowest) const noexcept;

  /// The position that many epochs beyond `position`. Where their length is not known, it is the
  /// end of the last epoch that begins before. Then there is no bound while that end is not known.
  [[nodiscard]] std::uint64_t ahead_of(std::uint64_t position, std::uint64_t epochs) const noexcept;

  /// Notes that [start, end) of one epoch is published; calls come in order. Announces the epoch's
  /// end if that is reached, and returns whether it did.
  [[nodiscard]] bool published(std::uint64_t start, std::uint64_t end,
                               const Receipt& receipt) noexcept;

  /// `published` jumps to `target`: the receipts of the samples between are unknown.
  void jumped(std::uint64_t target) noexcept;

  /// The same, where it is known what the epoch of `target` has before that.
  void jumped(std::uint64_t target, const Receipt& before) noexcept;

  /// The same where other rings know more of the epochs: `position` is in `epoch`, which begins at
  /// `epoch_start`. It forgets earlier epochs.
  void restarted(std::uint64_t position, std::uint64_t epoch, std::uint64_t epoch_start) noexcept;

  /// The current epoch, whose length was not known before, ends at `end`. It is published up to
  /// `published_end`.
  void end_current(std::uint64_t end, std::uint64_t published_end) noexcept;

 private:
  void announce() noexcept;
  void open(std::uint64_t epoch, bool whole) noexcept;

  Board board_;
  std::uint64_t samples_per_epoch_;
  std::uint64_t stream_end_;
  // With unknown length: starts of the epochs remembered. The last one is the current epoch's.
  std::deque<std::uint64_t> starts_;
  std::uint64_t first_remembered_ = 0;
  // The epoch that `published` is in.
  std::uint64_t open_epoch_ = 0;
  Receipt open_receipt_;
  bool open_whole_ = true;
};

}  // namespace batchcast::inline v0_1
