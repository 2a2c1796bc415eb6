// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/error.hpp>
#include <batchcast/feeder.hpp>

#include "feeder/one_sample.hpp"

#include <algorithm>

namespace batchcast::inline v0_1 {
namespace {

constexpr std::uint64_t samples_looked_at = 256;
constexpr double mean_min = 1e-3;  // where hardly any sample has a row

/// Of samples that are spread over the first epoch. Those that are bad have no say.
std::vector<RowSummary> made_rows(const SampleMaker& maker) {
  detail::OneSample sample(maker);
  std::vector<RowSummary> axes(axes_of(maker.schema()).size());
  const std::uint64_t samples = maker.samples_per_epoch();
  const std::uint64_t count = std::min(samples, samples_looked_at);
  for (std::uint64_t i = 0; i < count; ++i) {
    try {
      sample.make(0, i * (samples / count) + i * (samples % count) / count);
    } catch (const BadSample&) {
      continue;  // the stream says it, where it comes to it
    }
    for (std::size_t axis = 0; axis < axes.size(); ++axis) axes[axis].add(sample.rows()[axis]);
  }
  return axes;
}

}  // namespace

std::vector<RowsOnAxis> rows_of(const SampleMaker& maker) {
  std::vector<RowsOnAxis> rows;
  bool knows_all = true;
  for (const std::string& axis : axes_of(maker.schema())) {
    const auto lengths = maker.lengths(axis);
    knows_all = knows_all && lengths != nullptr;
    rows.push_back(
        {axis, lengths != nullptr ? summary_of(*lengths) : RowSummary(), lengths != nullptr});
  }
  if (knows_all) return rows;
  const std::vector<RowSummary> made = made_rows(maker);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].are_all) rows[i].rows = made[i];
  }
  return rows;
}

std::vector<RowsPerSample> rows_per_sample(const SampleMaker& maker) {
  std::vector<RowsPerSample> means;
  for (const RowsOnAxis& one : rows_of(maker)) {
    means.push_back({one.axis, std::max(one.rows.mean(), mean_min)});
  }
  return means;
}

}  // namespace batchcast::inline v0_1
