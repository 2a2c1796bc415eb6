// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/data/recipe.hpp>
#include <batchcast/data/row_lengths.hpp>

#include <cstdint>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// Which part of which document each sample is, where long documents are dropped or split. It has
/// memory for the long ones alone: a sample is found by a search among them.
class SampleCuts {
 public:
  struct Place {
    std::uint64_t document = 0;
    std::uint64_t piece = 0;  ///< of the document, from 0
  };

  /// `documents` are the lengths of the source. A longer document than `rows_max` is no sample with
  /// `drop`, and one for each `rows_max` rows with `split`; else each document is one sample.
  SampleCuts(const RowLengths& documents, std::uint64_t rows_max, Overlong overlong);

  [[nodiscard]] std::uint64_t samples() const noexcept { return samples_; }
  [[nodiscard]] bool are_documents() const noexcept { return long_.empty(); }
  [[nodiscard]] Place place_of(std::uint64_t sample) const noexcept;

 private:
  struct Long {
    std::uint64_t document;
    std::uint64_t first_sample;  ///< of its pieces, or the one that follows it
    std::uint64_t pieces;
  };

  std::vector<Long> long_;
  std::uint64_t samples_ = 0;
};

}  // namespace batchcast::inline v0_1::detail
