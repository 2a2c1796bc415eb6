// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/join/message.hpp>

#include <algorithm>
#include <cstdint>

namespace batchcast::inline v0_1::detail {

/// The batches that a trainer with a window, or its group, gets of an epoch with these rows: what
/// WindowCut finds in the ring.
[[nodiscard]] inline std::uint64_t windows_in(const CountBatches& request,
                                              std::uint64_t rows) noexcept {
  const Window& window = request.window;
  const std::uint64_t world = std::max<std::uint64_t>(request.world, 1);
  const std::uint64_t most = rows > window.extra ? rows - window.extra : 0;  // of all runs
  const std::uint64_t runs = most / window.rows / world;                     // of each rank
  const std::uint64_t batches = runs / window.runs;
  const std::uint64_t whole = batches * window.runs * window.rows * world;
  switch (request.tail) {
    case Tail::drop:
      return batches;
    case Tail::keep:
      return batches + (runs % window.runs != 0 ? 1 : 0);
    case Tail::pad:
      return batches + (most > whole ? 1 : 0);
  }
  return batches;
}

/// The same with a budget: what RowCut finds in the ring. A sample that exceeds the budget by
/// itself is a run, unless it is dropped. At the epoch's end runs are cut in two until there are
/// enough, as long as they have enough samples.
class BatchTally {
 public:
  explicit BatchTally(const CountBatches& request)
      : world_(std::max<std::uint64_t>(request.world, 1)),
        budget_(request.budget.rows),
        run_samples_max_(request.batch_size),
        drops_(request.oversize == Oversize::drop) {}

  /// The epoch's next sample, and its rows on the budget's axis.
  void add(std::uint64_t rows) noexcept {
    const bool is_too_long = rows > budget_;
    if (is_too_long || rows > budget_ - run_rows_) end_run();
    if (is_too_long && drops_) return;
    ++run_samples_;
    run_rows_ += std::min(rows, budget_);
    if (run_samples_ == run_samples_max_ || run_rows_ == budget_) end_run();
  }
  /// After the epoch's last sample.
  [[nodiscard]] std::uint64_t batches() noexcept {
    end_run();
    return batches_ + (in_runs_ >= world_ ? 1 : 0);
  }

 private:
  void end_run() noexcept {
    if (run_samples_ == 0) return;
    in_runs_ += run_samples_;
    run_samples_ = run_rows_ = 0;
    if (++runs_ < world_) return;
    ++batches_;
    runs_ = in_runs_ = 0;
  }

  std::uint64_t world_;
  std::uint64_t budget_;
  std::uint64_t run_samples_max_;
  bool drops_;
  std::uint64_t batches_ = 0;
  std::uint64_t runs_ = 0;         ///< of the batch that is not complete
  std::uint64_t in_runs_ = 0;      ///< samples in these
  std::uint64_t run_samples_ = 0;  ///< of the run that is not complete
  std::uint64_t run_rows_ = 0;
};

/// The same with either, of samples whose rows are known at once. `rows_of(index)`: the rows of a
/// sample on the axis of the request.
template <class RowsOf>
[[nodiscard]] std::uint64_t batches_in(const CountBatches& request, std::uint64_t samples,
                                       RowsOf&& rows_of) {
  BatchTally tally(request);
  std::uint64_t rows = 0;
  for (std::uint64_t index = 0; index < samples; ++index) {
    const std::uint64_t of_sample = rows_of(index);
    tally.add(of_sample);
    rows += of_sample;
  }
  return request.window.is_set() ? windows_in(request, rows) : tally.batches();
}

}  // namespace batchcast::inline v0_1::detail
