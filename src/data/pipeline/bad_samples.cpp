// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/pipeline/bad_samples.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/printable.hpp>

namespace batchcast::inline v0_1::detail {

void BadSamples::add(const BadSampleReport& report) {
  const std::string what = text("sample {}, `{}`, cannot be made: {}", report.sample_id,
                                printable(report.name), printable(report.reason));
  if (options_.on_bad_sample == OnBadSample::error) {
    throw BadSample(
        text("batchcast: {}. Repair or remove it, or serve with on_bad_sample = substitute "
             "(`--on-bad-sample substitute`).",
             what));
  }
  const std::lock_guard lock(mutex_);
  if (!ids_.insert(report.sample_id).second) return;
  if (ids_.size() > options_.samples_max) {
    throw BadSample(
        text("batchcast: more than {} samples cannot be made, the last one is {}. `batchcast "
             "check` lists all of them; --max-bad allows more.",
             options_.samples_max, what));
  }
  count_.store(ids_.size(), std::memory_order_relaxed);
  if (options_.report) options_.report(report);
}

void BadSamples::stood_in(std::uint64_t sample_id) {
  const std::lock_guard lock(mutex_);
  stand_ins_.insert(sample_id);
  ++times_;
}

StandIns BadSamples::stand_ins() const {
  const std::lock_guard lock(mutex_);
  return {stand_ins_.size(), times_};
}

}  // namespace batchcast::inline v0_1::detail
