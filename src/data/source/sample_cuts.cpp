// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/source/sample_cuts.hpp"

#include <algorithm>

namespace batchcast::inline v0_1::detail {

SampleCuts::SampleCuts(const RowLengths& documents, std::uint64_t rows_max, Overlong overlong) {
  const bool cuts = overlong == Overlong::drop || overlong == Overlong::split;
  if (!cuts) {
    samples_ = documents.size();
    return;
  }
  for (std::uint64_t document = 0; document < documents.size(); ++document) {
    const std::uint64_t rows = documents[document];
    std::uint64_t pieces = 1;
    if (rows > rows_max) {
      pieces = overlong == Overlong::drop ? 0 : (rows - 1) / rows_max + 1;
      long_.push_back({document, samples_, pieces});
    }
    samples_ += pieces;
  }
}

SampleCuts::Place SampleCuts::place_of(std::uint64_t sample) const noexcept {
  // Of dropped neighbours, which all have this first sample, the last one.
  auto after = std::upper_bound(
      long_.begin(), long_.end(), sample,
      [](std::uint64_t wanted, const Long& one) { return wanted < one.first_sample; });
  if (after == long_.begin()) return {sample, 0};
  const Long& before = *--after;
  const std::uint64_t distance = sample - before.first_sample;
  if (distance < before.pieces) return {before.document, distance};
  return {before.document + 1 + distance - before.pieces, 0};
}

}  // namespace batchcast::inline v0_1::detail
