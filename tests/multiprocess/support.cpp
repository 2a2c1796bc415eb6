// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "process.hpp"

#include <batchcast/core/clock.hpp>

#include <stdlib.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>

namespace batchcast::testing {

namespace fs = std::filesystem;

OwnDirectory::OwnDirectory() { ::setenv("BATCHCAST_DIR", path().c_str(), 1); }

std::size_t OwnDirectory::entries() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      fs::recursive_directory_iterator(path()),
      [](const auto& entry) { return entry.path().extension() != ".ended"; }));
}

double scale() {
  static const double value = [] {
    const char* text = std::getenv("BATCHCAST_TEST_SCALE");
    return text == nullptr ? 1.0 : std::max(std::atof(text), 1e-4);
  }();
  return value;
}

std::uint64_t scaled(std::uint64_t count, std::uint64_t least) {
  const double wanted = static_cast<double>(count) * scale();
  return std::max(least, static_cast<std::uint64_t>(std::llround(wanted)));
}

bool slow_build() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return true;
#else
  return false;
#endif
}

std::uint64_t test_seed(const char* test) {
  const char* text = std::getenv("BATCHCAST_TEST_SEED");
  const std::uint64_t seed =
      text != nullptr ? std::strtoull(text, nullptr, 10) : std::random_device()();
  std::printf("%s: BATCHCAST_TEST_SEED=%llu\n", test, static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  return seed;
}

bool eventually(const std::function<bool()>& condition, int timeout_ms) {
  const std::uint64_t until = now_ns() + static_cast<std::uint64_t>(timeout_ms) * 1'000'000;
  for (std::uint64_t step_us = 50;; step_us = std::min<std::uint64_t>(step_us * 2, 2'000)) {
    if (condition()) return true;
    if (now_ns() >= until) return false;
    pause_us(step_us);
  }
}

void pause_us(std::uint64_t microseconds) {
  const timespec time{static_cast<time_t>(microseconds / 1'000'000),
                      static_cast<long>(microseconds % 1'000'000 * 1'000)};
  ::nanosleep(&time, nullptr);
}

double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double index = std::ceil(share * static_cast<double>(values.size())) - 1;
  return values[static_cast<std::size_t>(std::max(index, 0.0))];
}

double starved_ms(const Process& other) {
  double sum_ns = 0;
  const auto add = [&](const fs::path& task) {
    std::ifstream file(task / "schedstat");
    std::uint64_t ran_ns = 0;
    std::uint64_t waited_ns = 0;
    if (file >> ran_ns >> waited_ns) sum_ns += static_cast<double>(waited_ns);
  };
  for (const auto& task : fs::directory_iterator("/proc/self/task")) add(task.path());
  if (other.pid() > 0) add("/proc/" + std::to_string(other.pid()));
  return sum_ns / 1e6;
}

}  // namespace batchcast::testing
