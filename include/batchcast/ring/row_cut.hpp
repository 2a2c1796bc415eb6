// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/options.hpp>
#include <batchcast/ring/row_table.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace batchcast::inline v0_1 {

/// How many rows of an axis a batch may have. `rows` 0: no budget.
struct RowBudget {
  std::size_t axis = 0;
  std::uint64_t rows = 0;
  Oversize oversize = Oversize::error;

  [[nodiscard]] bool is_set() const noexcept { return rows != 0; }
};

/// Consecutive samples, and the rows that they have on the budget's axis.
struct RowRun {
  std::uint64_t start = 0;
  std::uint64_t size = 0;
  std::uint64_t rows = 0;
  bool oversized = false;  ///< a sample that exceeds the budget by itself
};

/// Cuts a batch of as many runs as there are ranks: of as many whole samples as fit the budget
/// each. It depends on lengths alone, so all ranks, and all repetitions, find the same. It
/// allocates nothing after the first batches.
class RowCut {
 public:
  enum class Found : std::uint8_t {
    batch,
    more,       ///< it depends on samples that are not there yet
    none,       ///< the epoch has no further batch
    oversized,  ///< a sample exceeds the budget, and that is an error
  };
  /// What is known of the samples.
  struct There {
    std::uint64_t begin = 0;  ///< where the batch begins
    std::uint64_t end = 0;    ///< positions below it are published
    bool is_final = false;    ///< the epoch ends there
    /// The rows of the sample at `end`, which is not published.
    std::optional<std::uint64_t> next_rows = {};
  };

  explicit RowCut(std::uint64_t runs) : wanted_(runs) {}

  /// `samples_max`: of each run.
  [[nodiscard]] Found cut(const RowTable& table, const RowBudget& budget, std::uint64_t samples_max,
                          const There& there);

  // Of the last cut.
  [[nodiscard]] const std::vector<RowRun>& runs() const noexcept { return runs_; }
  /// After its last sample. Samples between its runs, and before the first one, were dropped.
  [[nodiscard]] std::uint64_t end() const noexcept { return end_; }
  /// Where `more` or `oversized` was found: the run that is not complete begins there.
  [[nodiscard]] std::uint64_t at() const noexcept { return at_; }
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_; }

 private:
  [[nodiscard]] Found find_run(const RowTable& table, const RowBudget& budget,
                               std::uint64_t samples_max, const There& there);
  [[nodiscard]] Found split(const RowTable& table);

  const std::uint64_t wanted_;
  std::vector<RowRun> runs_;
  std::uint64_t end_ = 0;
  std::uint64_t at_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace batchcast::inline v0_1
