// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "feeder/worker_count.hpp"

#include <cstdint>

#include "catch.hpp"
#include "producer/loan_size.hpp"

using namespace batchcast;
using detail::LoanSize;
using detail::WorkerCount;
using detail::WorkerShares;

TEST_CASE("the number of workers follows what limits") {
  WorkerCount count(16);
  const WorkerShares making{0.1, 0.88, 0.02};
  CHECK(count.next(1, making) == 2);
  CHECK(count.next(2, making) == 4);
  CHECK(count.next(8, making) == 16);
  CHECK(count.next(16, making) == 16);
  CHECK(count.next(12, {0.1, 0.8, 0.1}) == 12);
  // Reading leaves processors to others; beyond, threads that read no more are taken back.
  const WorkerShares reading{0.7, 0.28, 0.02};
  CHECK(count.next(16, reading) == 32);
  CHECK(count.next(32, reading) == 56);
  CHECK(count.next(60, reading) == 60);
  CHECK(count.next(64, {0.99, 0.01, 0}) == 64);
  CHECK(count.next(64, making) == 16);
  CHECK(count.next(17, making) == 17);
}

TEST_CASE("idle workers are taken back once they are idle for some time, to the last but one") {
  WorkerCount count(16);
  const auto after = [&](int looks, unsigned workers, double waiting) {
    unsigned next = workers;
    for (int i = 0; i < looks; ++i) next = count.next(workers, {0, 1 - waiting, waiting});
    return next;
  };
  CHECK(after(4, 16, 1) == 16);
  CHECK(after(1, 16, 0.05) == 16);
  CHECK(after(4, 16, 1) == 16);
  CHECK(after(1, 16, 1) == 1);
  CHECK(after(5, 8, 0.5) == 5);
  CHECK(after(5, 2, 0.9) == 1);
  CHECK(after(20, 2, 0.7) == 2);
  CHECK(after(20, 1, 1) == 1);
}

TEST_CASE("loans get as long as some samples are cheap, and no longer") {
  const auto settled = [](std::uint64_t sample_ns) {
    LoanSize size;
    for (int i = 0; i < 50; ++i) {
      const std::uint64_t samples = size.samples(1 << 20, 4);
      size.took(samples, samples * sample_ns);
    }
    return size;
  };
  CHECK(LoanSize().samples(1 << 20, 4) == 1);
  CHECK(settled(50).samples(1 << 20, 4) == 64);
  CHECK(settled(10'000).samples(1 << 20, 4) >= 5);
  CHECK(settled(10'000).samples(1 << 20, 4) <= 10);
  CHECK(settled(600'000).samples(1 << 20, 4) == 1);
  // Never more than a quarter of a worker's share of the ring.
  CHECK(settled(50).samples(256, 4) == 16);
  CHECK(settled(50).samples(3, 4) == 1);
  LoanSize once_slow = settled(10'000);
  once_slow.took(1, 100'000'000);
  CHECK(once_slow.samples(1 << 20, 4) >= 4);
}
