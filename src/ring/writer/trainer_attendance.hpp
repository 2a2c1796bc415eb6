// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "ring/writer/consumer_table.hpp"
#include "ring/writer/stream_outcome.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace batchcast::inline v0_1 {

/// Which trainers the stream has at all its rings, whether it ever had one, and where the last one
/// left. A trainer is a consumer that neither observes nor mirrors. Belongs to the RingWriter,
/// under its admission lock.
class TrainerAttendance {
 public:
  /// All three must outlive this.
  TrainerAttendance(const EpochLedger& ledger, const ConsumerTable& consumers,
                    const StreamOutcome& outcome, std::uint32_t wait_for) noexcept;

  /// Whether no trainer is attached to any ring of the stream.
  [[nodiscard]] bool is_deserted() const noexcept;
  /// Whether that has lasted for `ns`. The time counts from the last trainer that left or was
  /// announced, or from the beginning.
  [[nodiscard]] bool is_deserted_for(std::uint64_t ns) const noexcept;
  [[nodiscard]] bool has_trainers_elsewhere() const noexcept { return elsewhere_ != 0; }
  /// Whether a trainer is attached, or one was.
  [[nodiscard]] bool ever_had_trainer() const noexcept { return ever_had_trainer_; }
  /// The stream publishes nothing until `wait_for` trainers are attached. A group is one trainer.
  [[nodiscard]] bool first_publication_waits() const noexcept { return to_come() != 0; }
  /// How many of these have not come; 0 once something is published.
  [[nodiscard]] std::uint32_t to_come() const noexcept;

  void trainer_came() noexcept {
    ever_had_trainer_ = true;
    expected_came(1);
  }
  /// A trainer was announced. The time without trainers counts from now at the earliest, and a
  /// stream that has drained waits for it a little.
  void expect_trainer() noexcept;
  /// Whether a trainer that was announced a short while ago has not come yet.
  [[nodiscard]] bool expects_trainer() const noexcept;
  /// `position`: where it stood, if it ever had a batch. `read_to`: how far it received samples.
  void trainer_left(std::optional<std::uint64_t> position, std::uint64_t read_to) noexcept;
  /// `jobs`: the same with each group of ranks as one.
  void set_trainers_elsewhere(std::uint32_t trainers, std::uint32_t jobs) noexcept;

  /// How far a trainer of this ring, attached or gone, has received samples since the last jump.
  [[nodiscard]] std::uint64_t read_to() const noexcept;
  /// The same for the trainers that have gone: another ring of the stream keeps it from now on.
  [[nodiscard]] std::uint64_t take_read_to() noexcept;
  void add_read_to(std::uint64_t position) noexcept { read_to_ = std::max(read_to_, position); }
  /// The stream jumps from `published`, which it reached without a jump from `run_start` on.
  void jumps(std::uint64_t run_start, std::uint64_t published) noexcept;
  /// Samples right before the last jump that no trainer received.
  [[nodiscard]] std::uint64_t unread_before_jump() const noexcept { return unread_before_; }
  /// Where the last trainer that had a batch left this ring. Nothing if none has since the last
  /// call.
  [[nodiscard]] std::optional<std::uint64_t> take_left_at() noexcept;
  /// The same, where that trainer left another ring. Empty: forget it.
  void set_left_at(std::optional<std::uint64_t> position) noexcept { left_at_ = position; }
  /// Where `rewind` begins while no trainer is attached: at the start of the epoch that the last
  /// trainer left. If that is below `oldest`, the lowest position held, it is the first start from
  /// there. Nothing where that start is not known yet.
  [[nodiscard]] std::optional<std::uint64_t> rewind_start(std::uint64_t oldest) const noexcept;

  /// The trainers of an earlier producer go on: the first publication waits for none.
  void forgo_wait() noexcept { waits_ = false; }

 private:
  void expected_came(std::uint32_t trainers) noexcept;

  const EpochLedger& ledger_;
  const ConsumerTable& consumers_;
  const StreamOutcome& outcome_;
  const std::uint32_t wait_for_;
  bool waits_ = true;  ///< for them
  std::uint32_t elsewhere_ = 0;
  std::uint32_t jobs_elsewhere_ = 0;
  bool ever_had_trainer_ = false;
  std::uint64_t last_leave_ns_;  ///< or when a trainer was announced last
  std::uint64_t expected_since_ns_ = 0;
  std::uint32_t expected_ = 0;  ///< were announced, and have not come
  std::optional<std::uint64_t> left_at_;
  std::uint64_t read_to_ = 0;  ///< of those that have left, or moved on
  std::uint64_t unread_before_ = 0;
  bool left_anew_ = false;  ///< `left_at_` belongs to this ring, and was not taken yet
};

}  // namespace batchcast::inline v0_1
