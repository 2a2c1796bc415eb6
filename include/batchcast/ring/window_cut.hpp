// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/options.hpp>
#include <batchcast/ring/row_table.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace batchcast::inline v0_1 {

/// Which rows of an axis a batch has: `runs` times `rows` of them, and `extra` after each run.
struct RowWindow {
  std::size_t axis = 0;
  std::uint64_t rows = 0;  ///< 0: no window
  std::uint64_t runs = 1;
  std::uint64_t extra = 0;

  [[nodiscard]] bool is_set() const noexcept { return rows != 0; }
};

/// Cuts the rows of a batch among the ranks of a group: rank r has the r-th `runs` runs. It depends
/// on lengths alone, so all ranks, and all repetitions, find the same. It allocates nothing after
/// it was made.
class WindowCut {
 public:
  enum class Found : std::uint8_t {
    batch,
    more,  ///< it depends on samples that are not there yet
    none,  ///< the epoch has no further batch
    gone,  ///< the sample at the cursor has no such row
  };
  /// What is known of the samples.
  struct There {
    RowPlace begin;
    std::uint64_t end = 0;  ///< positions below it are published
    bool is_final = false;  ///< the epoch ends there
  };

  explicit WindowCut(std::uint64_t ranks) : bounds_(ranks + 1) {}

  [[nodiscard]] Found cut(const RowTable& table, const RowWindow& window, Tail tail,
                          const There& there);

  // Of the last cut.
  /// The first row that is not delivered yet, by its coordinate.
  [[nodiscard]] std::uint64_t first_row() const noexcept { return first_row_; }
  /// The rows from there on that are published, of that epoch.
  [[nodiscard]] std::uint64_t rows_there() const noexcept { return there_; }
  /// Runs of each rank.
  [[nodiscard]] std::uint64_t runs() const noexcept { return runs_; }
  /// Whether rows begin again at `first_row` after `rows_there` of them.
  [[nodiscard]] bool is_padded() const noexcept { return is_padded_; }
  /// Where rank r's rows begin. The last place is the cursor after the batch.
  [[nodiscard]] const std::vector<RowPlace>& bounds() const noexcept { return bounds_; }

  /// The place of the row that follows those before `row`. A sample's end is the next one's
  /// beginning. Some sample of [begin, end) has its end there or later.
  [[nodiscard]] static RowPlace place_of(const RowTable& table, std::uint64_t begin,
                                         std::uint64_t end, std::uint64_t row) noexcept;

 private:
  void find_bounds(const RowTable& table, const RowWindow& window, const There& there) noexcept;

  std::vector<RowPlace> bounds_;
  std::uint64_t first_row_ = 0;
  std::uint64_t there_ = 0;
  std::uint64_t runs_ = 0;
  bool is_padded_ = false;
};

}  // namespace batchcast::inline v0_1
