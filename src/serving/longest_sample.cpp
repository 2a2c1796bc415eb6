// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "serving/longest_sample.hpp"

#include "ring/row_plan.hpp"
#include "served/host_ring.hpp"
#include "serving/console.hpp"

#include <batchcast/core/bytes_text.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/text.hpp>
#include <batchcast/data/row_lengths.hpp>
#include <batchcast/ring/memory.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace batchcast::inline v0_1::serving {
namespace {

/// The most rows of a sample on each axis; 0 where that is not known.
std::vector<std::uint64_t> longest_of(const SampleMaker& maker) {
  std::vector<std::uint64_t> longest;
  for (const std::string& axis : axes_of(maker.schema())) {
    const auto lengths = maker.lengths(axis);
    longest.push_back(lengths == nullptr ? 0 : summary_of(*lengths).max);
  }
  return longest;
}

/// The options that give the ring room for the longest sample.
std::string cure_of(const ProducerOptions& serving, const std::vector<std::uint64_t>& longest,
                    std::uint64_t memory) {
  std::string cure;
  const std::vector<std::string> axes = axes_of(serving.schema);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    for (const AxisRowCount& one : serving.rows) {
      if (one.axis != axes[i] || one.rows >= longest[i]) continue;
      cure += text("{}--rows {}={}", cure.empty() ? "" : " ", axes[i], longest[i]);
    }
  }
  if (memory <= serving.memory) return cure;
  return text("{}{}--memory {}", cure, cure.empty() ? "" : " ", memory_argument(memory));
}

/// The ring that is made for `serving`. Throws InvalidArgument where it holds no sample, with what
/// the longest takes.
RingPlan plan_of(const ProducerOptions& serving, const Schema& fields,
                 const std::vector<std::uint64_t>& longest, const std::string& cure) {
  try {
    return plan_ring_of_rows(fields, detail::axis_wishes(serving), serving.memory, page_bytes());
  } catch (const InvalidArgument&) {
    const auto most = std::max_element(longest.begin(), longest.end()) - longest.begin();
    throw InvalidArgument(text(
        "batchcast: a ring of {} has no room for one sample. The longest has {} rows on the axis "
        "`{}`: give the stream {}.",
        bytes_text(serving.memory), count_text(longest[static_cast<std::size_t>(most)]),
        axes_of(fields)[static_cast<std::size_t>(most)], cure));
  }
}

}  // namespace

void check_longest_sample(const ProducerOptions& serving, const SampleMaker& maker,
                          bool meets_all) {
  const std::vector<std::string> axes = axes_of(serving.schema);
  const std::vector<std::uint64_t> longest = longest_of(maker);
  if (std::all_of(longest.begin(), longest.end(), [](std::uint64_t rows) { return rows == 0; })) {
    return;
  }
  Schema fields = serving.schema;
  fields.push_back({std::string(sample_id_name), DType::u64, {}});
  const std::uint64_t enough =
      memory_for_rows(fields, detail::axis_wishes(serving), longest, page_bytes());
  const std::string cure = cure_of(serving, longest, enough);
  if (cure.empty()) return;
  const RingPlan plan = plan_of(serving, fields, longest, cure);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::uint64_t there = plan.axes[i].rows;
    if (longest[i] <= there) continue;
    const std::string numbers =
        text("the longest sample has {} rows on the axis `{}`, and the ring has {}",
             count_text(longest[i]), axes[i], count_text(there));
    if (meets_all) {
      throw InvalidArgument(
          text("batchcast: {}: an epoch would fail there. Give the stream {}.", numbers, cure));
    }
    serving.log(LogLevel::warning,
                text("{}: the stream fails at the first sample that does not fit. Give the "
                     "stream {}",
                     numbers, cure));
  }
}

}  // namespace batchcast::inline v0_1::serving
