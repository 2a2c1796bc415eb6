// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/join/message.hpp>
#include <batchcast/producer_options.hpp>
#include "door/door_server.hpp"
#include "producer/batches_in.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// Counts the batches of epochs for trainers, a part at a time, and keeps some answers. Each
/// consumer has one question at a time: the next one ends the first, which is then answered as not
/// known. Belongs to the door's thread.
class BatchCounter {
 public:
  using Lengths = std::function<RowsOf(std::string_view axis)>;

  /// `lengths` must outlive it, and may be empty.
  BatchCounter(std::uint64_t samples_per_epoch, const Lengths& lengths)
      : samples_(samples_per_epoch), lengths_(lengths) {}

  /// Each question has one answer, in the order of the questions. A count that takes longer than a
  /// consumer waits is answered as not known, and goes on: the next one who asks has it.
  void ask(ConsumerKey key, const CountBatches& request, std::uint64_t now_ns);
  /// That consumer has gone.
  void forget(ConsumerKey key);
  [[nodiscard]] std::vector<std::pair<ConsumerKey, BatchCount>> take_answers() {
    return std::exchange(answers_, {});
  }

  [[nodiscard]] bool has_work() const noexcept { return !counts_.empty(); }
  /// Counts for about a millisecond of `clock`. Counts take turns. Throws what `lengths` throws.
  void work(std::uint64_t (*clock)());

 private:
  struct Asker {
    ConsumerKey key;
    std::uint64_t answer_by_ns;
    bool is_answered = false;
  };
  struct Count {
    explicit Count(const CountBatches& asked) : request(asked), tally(asked) {}
    CountBatches request;
    std::vector<Asker> askers = {};
    RowsOf rows_of = {};
    std::uint64_t counted = 0;  ///< samples
    BatchTally tally;           ///< where there is no window
    std::uint64_t rows = 0;     ///< where there is one
  };

  [[nodiscard]] Count* find(const CountBatches& request) noexcept;
  [[nodiscard]] const BatchCount* find_kept(const CountBatches& request) const noexcept;
  void begin(const CountBatches& request, const Asker& asker);
  void end_question_of(ConsumerKey key, bool answers);
  void drop_unasked();
  void count_some(Count& count) const;
  void finish(Count& count);
  void answer(Count& count, const BatchCount& what);
  void answer_late(std::uint64_t now_ns);

  const std::uint64_t samples_;
  const Lengths& lengths_;
  std::deque<Count> counts_;  ///< the next one first
  std::deque<std::pair<CountBatches, BatchCount>> kept_;
  std::vector<std::pair<ConsumerKey, BatchCount>> answers_;
};

}  // namespace batchcast::inline v0_1::detail
