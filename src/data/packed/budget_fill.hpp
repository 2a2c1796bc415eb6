// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/language.hpp>

#include <cstdint>

namespace batchcast::inline v0_1::detail {

/// How full the batches of a consumer with a budget are, which takes whole samples as they come.
/// Samples beyond the budget, and what is left when there are no more, do not count.
class BudgetFill {
 public:
  explicit BudgetFill(std::uint64_t budget) noexcept : budget_(budget) {}

  void add(std::uint64_t rows) noexcept {
    if (in_batch_ == budget_ || rows > budget_ - in_batch_) end_batch();
    if (rows <= budget_) in_batch_ += rows;
  }
  [[nodiscard]] std::uint64_t batches() const noexcept { return batches_; }
  /// Of those batches; 0 where there is none.
  [[nodiscard]] double fill() const noexcept {
    if (batches_ == 0) return 0;
    return static_cast<double>(rows_) /
           (static_cast<double>(batches_) * static_cast<double>(budget_));
  }

 private:
  void end_batch() noexcept {
    if (in_batch_ == 0) return;
    ++batches_;
    rows_ += in_batch_;
    in_batch_ = 0;
  }

  std::uint64_t budget_;
  std::uint64_t in_batch_ = 0;
  std::uint64_t batches_ = 0;
  std::uint64_t rows_ = 0;
};

}  // namespace batchcast::inline v0_1::detail
