// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "feeder/worker_count.hpp"

#include <algorithm>
#include <cmath>

namespace batchcast::inline v0_1::detail {
namespace {

// Workers that make less than consumers ask for never wait for space, only for the ring's lock.
constexpr double waits_for_consumers = 0.1;
constexpr double hardly_waits = 0.05;

// One idle worker and a half: with one worker fewer the others still wait, so it is not missed.
constexpr double idle_workers = 1.5;
constexpr int idle_looks_needed = 5;

constexpr double reading_factor_max = 4;

}  // namespace

Bottleneck bottleneck_of(const WorkerShares& shares) noexcept {
  if (shares.waiting >= waits_for_consumers) return Bottleneck::consumers;
  if (shares.reading + shares.making <= 0) return Bottleneck::none;
  return shares.reading > shares.making ? Bottleneck::reading : Bottleneck::making;
}

unsigned WorkerCount::most(const WorkerShares& shares) const noexcept {
  const double busy = shares.reading + shares.making;
  const double reading = busy > 0 ? shares.reading / busy : 0;
  // A worker that waits in reading leaves its processor to another.
  const double factor = reading > 0.5 ? std::min(reading_factor_max, 1 / (1 - reading)) : 1;
  return static_cast<unsigned>(std::ceil(processors_ * factor));
}

unsigned WorkerCount::next(unsigned workers, const WorkerShares& shares) noexcept {
  const double idle = shares.waiting * workers;
  idle_looks_ = idle >= idle_workers ? idle_looks_ + 1 : 0;
  // What other processes need is theirs, also of workers that wait now and then.
  if (processors_ < at_first_ && workers > most(shares)) return most(shares);
  if (shares.waiting < hardly_waits) {
    const unsigned limit = most(shares);
    // A limit that varies with the share of reading should not start and end threads all the time.
    const bool about_right = limit < workers && limit > workers - workers / 4;
    return about_right ? workers : std::min(2 * workers, limit);
  }
  if (idle_looks_ < idle_looks_needed) return workers;
  idle_looks_ = 0;
  const auto spare = static_cast<unsigned>(idle - idle_workers / 2);
  return workers - std::clamp(spare, 1U, workers - 1);
}

}  // namespace batchcast::inline v0_1::detail
