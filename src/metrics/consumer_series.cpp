// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "metrics/consumer_series.hpp"

#include <algorithm>
#include <utility>

namespace batchcast::inline v0_1::metrics {
namespace {

// A producer that leaves consumers out may name others each time.
constexpr std::size_t known_max = 1 << 16;

double growth(double before, double now) noexcept { return now > before ? now - before : 0; }

}  // namespace

bool is_observer(const observe::Trainer& trainer) noexcept { return trainer.state == "observing"; }

bool ConsumerSeries::has_place(const std::string& name) {
  if (name == other_name) return false;
  if (named_.contains(name)) return true;
  if (named_.size() >= places_) return false;
  named_.emplace(name, ConsumerSums{});
  return true;
}

void ConsumerSeries::take(const observe::Trainer& trainer) {
  const auto [found, is_new] = known_.try_emplace(trainer.id);
  Known& known = found->second;
  if (is_new) {
    known.name = trainer.name;
    known.is_other = !has_place(trainer.name);
    has_other_ = has_other_ || known.is_other;
  }
  known.is_here = true;
  ConsumerSums& sums = known.is_other ? other_ : named_[known.name];
  const std::uint64_t samples = std::max(known.samples, trainer.samples);
  sums.samples += static_cast<double>(samples - known.samples);
  sums.wait_seconds += growth(known.wait_seconds, trainer.wait_seconds);
  sums.waited_for_seconds += growth(known.waited_for_seconds, trainer.waited_for_seconds);
  sums.lag = std::max(sums.lag, trainer.lag);
  ++sums.attached;
  known.samples = samples;
  known.wait_seconds = std::max(known.wait_seconds, trainer.wait_seconds);
  known.waited_for_seconds = std::max(known.waited_for_seconds, trainer.waited_for_seconds);
}

void ConsumerSeries::drop_absent(bool all_are_listed) {
  if (!all_are_listed && known_.size() <= known_max) return;
  std::erase_if(known_, [](const auto& one) { return !one.second.is_here; });
  std::map<std::string, ConsumerSums> kept;
  for (const auto& [id, known] : known_) {
    if (!known.is_other) kept.emplace(known.name, named_[known.name]);
  }
  named_ = std::move(kept);
}

void ConsumerSeries::look(const observe::Stream& now) {
  const auto empty = [](ConsumerSums& sums) { sums.lag = 0, sums.attached = 0; };
  for (auto& [name, sums] : named_) empty(sums);
  empty(other_);
  for (auto& [id, known] : known_) known.is_here = false;
  // Who left makes room before others take it.
  for (const observe::Trainer& trainer : now.trainers) {
    const auto found = known_.find(trainer.id);
    if (found != known_.end()) found->second.is_here = true;
  }
  drop_absent(now.trainers_left_out == 0);
  for (const observe::Trainer& trainer : now.trainers) {
    if (!is_observer(trainer)) take(trainer);
  }
}

}  // namespace batchcast::inline v0_1::metrics
