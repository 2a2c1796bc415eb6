// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/board.hpp>
#include <batchcast/ring/lease_table.hpp>
#include <batchcast/ring/read_cursor.hpp>
#include "ring/writer/writer.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace batchcast::inline v0_1::detail {

/// A mirror's end of the host ring. It has a ReadCursor and a LeaseTable, as a consumer does. But
/// it takes the samples that are there instead of batches, and begins where the writer says.
/// Belongs to the mirror's thread, except for `is_closed` and `ring`.
class MirrorSource {
 public:
  /// `desk` is the one that the host's writer admitted.
  MirrorSource(Board host, std::shared_ptr<Desk> desk);

  /// The writer let the mirror in here. Everything taken before has been given back.
  void start(const MirrorStart& start) noexcept;

  enum class Found { samples, end_of_epoch, end_of_stream, nothing };
  struct Polled {
    Found found;
    std::uint64_t samples = 0;  ///< of one epoch, if `found` is `samples`
  };
  /// What comes next, at most `samples_max` samples. Where epochs have one length, their ends are
  /// not mentioned. Never waits.
  [[nodiscard]] Polled poll(std::uint64_t samples_max) noexcept;
  /// Takes a piece of `samples` samples to copy: the position moves on.
  void take(std::uint64_t samples);
  /// The oldest piece taken is copied: the host may overwrite it.
  void give_back_oldest() noexcept;
  /// Begins the next epoch, after `end_of_epoch`.
  void next_epoch() noexcept;
  /// Whether the writer took the mirror's place away: what was read may be torn.
  [[nodiscard]] bool revoked() const noexcept { return cursor_.revoked(); }

  [[nodiscard]] std::uint64_t position() const noexcept { return cursor_.position(); }
  /// The stream's state; `wait` returns once the stream has ended in another one.
  [[nodiscard]] StreamState see_state() noexcept { return seen_state_ = cursor_.state(); }
  [[nodiscard]] std::string state_text() const { return cursor_.state_text(); }
  /// Where the stream ended, as the mirror would begin there.
  [[nodiscard]] MirrorStart end() const noexcept;
  /// From any thread: whether the host ring admits no consumer any more.
  [[nodiscard]] bool is_closed() const noexcept { return cursor_.state() == StreamState::finished; }

  /// Call it after a poll without a result: waits until there is something, or `ring` is called,
  /// but not for ever.
  void wait();
  /// The same while the mirror rests, until `start`: new samples do not wake it.
  void rest();
  /// Wakes the mirror; from any thread.
  void ring() noexcept;

 private:
  BoardView board_;
  std::shared_ptr<Desk> desk_;
  Shared32& wake_word_;
  ReadCursor cursor_;
  LeaseTable leases_;
  std::uint64_t oldest_lease_ = 0;
  StreamState seen_state_ = StreamState::starting;
  std::atomic<bool> rung_{false};
};

}  // namespace batchcast::inline v0_1::detail
