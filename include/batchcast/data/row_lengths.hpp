// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/language.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace batchcast::inline v0_1 {

/// How many rows each sample of a dataset has on one axis, known without reading samples. It does
/// not change, and any thread may call any member. It holds at most 4 bytes a sample.
class RowLengths {
 public:
  RowLengths() = default;
  RowLengths(const RowLengths&) = delete;
  RowLengths& operator=(const RowLengths&) = delete;
  virtual ~RowLengths() = default;

  /// The samples of the dataset.
  [[nodiscard]] virtual std::uint64_t size() const noexcept = 0;
  /// The rows of a sample, whose id is below size(). It takes some nanoseconds.
  [[nodiscard]] virtual std::uint64_t operator[](std::uint64_t sample_id) const noexcept = 0;
};

/// Lengths in memory, of at most 2^32 - 1 rows each.
class StoredLengths final : public RowLengths {
 public:
  explicit StoredLengths(std::vector<std::uint32_t> rows) noexcept : rows_(std::move(rows)) {}

  [[nodiscard]] std::uint64_t size() const noexcept override { return rows_.size(); }
  [[nodiscard]] std::uint64_t operator[](std::uint64_t sample_id) const noexcept override {
    return rows_[sample_id];
  }

 private:
  std::vector<std::uint32_t> rows_;
};

/// What a look at lengths says of an axis.
struct RowSummary {
  std::uint64_t samples = 0;  ///< that were looked at
  std::uint64_t min = 0;
  std::uint64_t max = 0;
  std::uint64_t total = 0;

  [[nodiscard]] double mean() const noexcept {
    return samples == 0 ? 0 : static_cast<double>(total) / static_cast<double>(samples);
  }
  void add(std::uint64_t rows) noexcept {
    min = samples == 0 ? rows : std::min(min, rows);
    max = std::max(max, rows);
    total += rows;
    ++samples;
  }
};

/// Of all samples.
[[nodiscard]] inline RowSummary summary_of(const RowLengths& lengths) noexcept {
  RowSummary summary;
  for (std::uint64_t id = 0; id < lengths.size(); ++id) summary.add(lengths[id]);
  return summary;
}

}  // namespace batchcast::inline v0_1
