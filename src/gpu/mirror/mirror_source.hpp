// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/board.hpp>
#include <batchcast/ring/cursor.hpp>
#include <batchcast/ring/spinner.hpp>
#include "ring/writer/writer.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace batchcast::inline v0_1::detail {

/// A mirror's end of the host ring: what is there to be copied, and the sleep until more is. Like a
/// RingReader, but it takes what comes instead of batches, begins where the writer says, and is in
/// the writer's own process. Belongs to the mirror's thread, but for `ring`.
class MirrorSource {
 public:
  /// `desk` is the one that `writer` admitted.
  MirrorSource(Board host, std::shared_ptr<Desk> desk, const Admitted& admitted);

  /// The writer let the mirror in here.
  void start(const MirrorStart& start) noexcept;

  enum class Sight { samples, end_of_epoch, over, nothing };
  /// What comes next. `samples`: so many of one epoch, at most `samples_max`. Where epochs have one
  /// length, their ends are not mentioned.
  [[nodiscard]] Sight look(std::uint64_t samples_max, std::uint64_t& samples) noexcept;
  /// The position moves on.
  void take(std::uint64_t samples) noexcept;
  /// Goes on to the next epoch, after `end_of_epoch`.
  void next_epoch() noexcept;
  /// All below `position` is copied: the host may write over it.
  void release(std::uint64_t position) noexcept;
  /// The writer took its place away: what was read may be torn.
  [[nodiscard]] bool revoked() const noexcept;

  [[nodiscard]] std::uint64_t position() const noexcept { return position_; }
  [[nodiscard]] std::uint64_t epoch() const noexcept { return epoch_; }
  /// The stream's; `wait` returns when it is another.
  [[nodiscard]] StreamState see_state() noexcept;
  [[nodiscard]] std::string state_text() const;
  /// Where the stream ended, as the mirror would begin there.
  [[nodiscard]] MirrorStart end() const noexcept;
  /// From any thread: nobody is let into the host ring any more.
  [[nodiscard]] bool is_closed() const noexcept;

  /// Until there is something new, or `ring` is called; at most so long. `resting`: new samples are
  /// nothing new.
  void wait(int timeout_ms, bool resting);
  /// Wakes the mirror; from any thread.
  void ring() noexcept;

 private:
  [[nodiscard]] std::optional<std::uint64_t> announced_end() const noexcept;
  [[nodiscard]] bool is_new(std::uint64_t wanted) const noexcept;

  Board host_;
  std::shared_ptr<Desk> desk_;
  ConsumerEntry& entry_;
  const std::uint64_t consumer_id_;
  const std::uint64_t samples_per_epoch_;
  std::uint64_t position_ = 0;
  std::uint64_t epoch_ = 0;
  std::optional<std::uint64_t> end_;  ///< of the epoch, once it is known
  StreamState seen_state_ = StreamState::starting;
  std::uint64_t seen_announced_ = 0;
  std::atomic<bool> rung_{false};
  Spinner spinner_;
};

}  // namespace batchcast::inline v0_1::detail
