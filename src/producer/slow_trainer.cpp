// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "producer/slow_trainer.hpp"

#include <batchcast/core/options.hpp>
#include <batchcast/core/states.hpp>

#include <algorithm>
#include <cstddef>

namespace batchcast::inline v0_1::detail {
namespace {

constexpr double slow_share = 0.5;

bool is_reading(const ConsumerStatus& one) noexcept {
  return one.state != ConsumerState::paused && one.state != ConsumerState::observing &&
         one.state != ConsumerState::resting && one.state != ConsumerState::skipping;
}

/// The one that gates the ring; null where none does.
const ConsumerStatus* slowest_of(const WriterStatus& status) noexcept {
  const ConsumerStatus* slowest = nullptr;
  for (const ConsumerStatus& one : status.consumers) {
    if (!is_reading(one) || one.pace != Pace::lockstep) continue;
    if (slowest == nullptr || one.position < slowest->position) slowest = &one;
  }
  return slowest;
}

}  // namespace

std::optional<SlowTrainerWatch::Slow> SlowTrainerWatch::look(const WriterStatus& status,
                                                             std::uint64_t capacity,
                                                             std::uint64_t now_ns,
                                                             std::uint64_t window_ns) {
  if (!began_ns_) begin(status, now_ns);
  ++looks_;
  const ConsumerStatus* const slowest = slowest_of(status);
  if (slowest != nullptr && slowest->position + capacity <= status.claimed) {
    ++full_looks_;
    const auto known = trainers_.find(slowest->consumer_id);
    if (known != trainers_.end()) ++known->second.last_looks;
  }
  const std::uint64_t passed_ns = now_ns - *began_ns_;
  if (passed_ns < window_ns) return std::nullopt;
  std::optional<Slow> slow = found(status, passed_ns);
  forget();
  return slow;
}

void SlowTrainerWatch::forget() noexcept {
  trainers_.clear();
  began_ns_.reset();
  looks_ = full_looks_ = 0;
}

void SlowTrainerWatch::begin(const WriterStatus& status, std::uint64_t now_ns) {
  began_ns_ = now_ns;
  for (const ConsumerStatus& one : status.consumers) {
    trainers_[one.consumer_id] = {one.position, one.wait_ns, 0};
  }
}

std::optional<SlowTrainerWatch::Slow> SlowTrainerWatch::found(const WriterStatus& status,
                                                              std::uint64_t passed_ns) const {
  if (static_cast<double>(full_looks_) < slow_share * static_cast<double>(looks_)) {
    return std::nullopt;
  }
  const ConsumerStatus* last = nullptr;
  std::uint64_t last_looks = 0;
  for (const ConsumerStatus& one : status.consumers) {
    const auto known = trainers_.find(one.consumer_id);
    if (known == trainers_.end() || known->second.last_looks <= last_looks) continue;
    last = &one;
    last_looks = known->second.last_looks;
  }
  const bool may_move = last != nullptr && !last->mirrors && last->group.world == 0 &&
                        last->position > trainers_.at(last->consumer_id).position;
  if (!may_move) return std::nullopt;
  const double share = waited_share(status, last->consumer_id, passed_ns);
  if (share < slow_share) return std::nullopt;
  return Slow{last->index, last->consumer_id, last->name, share};
}

/// What those waited, on average, that were there all the time; without any it is 0.
double SlowTrainerWatch::waited_share(const WriterStatus& status, std::uint64_t consumer_id,
                                      std::uint64_t passed_ns) const {
  double waited = 0;
  std::size_t others = 0;
  for (const ConsumerStatus& one : status.consumers) {
    const auto known = trainers_.find(one.consumer_id);
    if (known == trainers_.end() || one.consumer_id == consumer_id) continue;
    if (one.mirrors || !is_reading(one)) continue;
    // A desk is not believed.
    const std::uint64_t more_ns =
        one.wait_ns > known->second.wait_ns ? one.wait_ns - known->second.wait_ns : 0;
    waited += static_cast<double>(std::min(more_ns, passed_ns)) / static_cast<double>(passed_ns);
    ++others;
  }
  return others == 0 ? 0 : waited / static_cast<double>(others);
}

}  // namespace batchcast::inline v0_1::detail
