// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/packed/budget_fill.hpp"

#include <batchcast/data/order.hpp>
#include <batchcast/data/random.hpp>

#include <malloc.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

// The order `packed` of texts whose lengths are lognormal (mean 400, deviation of the logarithm 1,
// cut at 4096): how full batches are, what finding a position takes, how many samples a second one
// thread orders. Times are those of the thread on its processor. One JSON object on stdout. Usage:
// packed [SAMPLES [BUDGET [AMONG]]]
namespace {

using namespace batchcast;
/// Of this thread: nothing here waits, and other work on the machine does not count.
double cpu_ms() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

std::shared_ptr<const RowLengths> texts(std::uint64_t samples) {
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> length(std::log(400.0) - 0.5, 1);
  std::vector<std::uint32_t> lengths(samples);
  for (auto& one : lengths) {
    one = static_cast<std::uint32_t>(std::clamp(length(random), 1.0, 4096.0));
  }
  return std::make_shared<StoredLengths>(std::move(lengths));
}

struct Walk {
  double fill = 0;
  double samples_per_second = 0;
  double longest_ms = 0;  ///< that 64 samples took, a worker's loan
};

/// All samples of epoch 0, one after the other.
Walk walk(const OrderOptions& options) {
  const Order order(options);
  const EpochOrder epoch = order.epoch(0);
  std::vector<std::uint64_t> ids(epoch.size());
  Walk walked;
  const double began = cpu_ms();
  double before = began;
  for (std::uint64_t i = 0; i < ids.size(); ++i) {
    ids[i] = epoch.index_at(i);
    if (i % 64 != 0) continue;
    const double now = cpu_ms();
    walked.longest_ms = std::max(walked.longest_ms, now - before);
    before = now;
  }
  walked.samples_per_second = static_cast<double>(ids.size()) / (cpu_ms() - began) * 1000;
  detail::BudgetFill fill(options.packed.budget);
  for (const std::uint64_t id : ids) fill.add((*options.lengths)[id]);
  walked.fill = fill.fill();
  return walked;
}

/// Milliseconds for positions of epochs that nothing was looked up in before.
std::vector<double> finds(const OrderOptions& options) {
  const Order order(options);
  std::vector<double> took;
  for (std::uint64_t i = 0; i < 500; ++i) {
    const std::uint64_t offset = detail::mix64(i) % options.samples_per_epoch;
    const double began = cpu_ms();
    const std::uint64_t id = order.sample_id_at(i, offset);
    took.push_back(cpu_ms() - began);
    if (id >= options.samples_per_epoch) std::abort();
  }
  std::sort(took.begin(), took.end());
  return took;
}

std::uint64_t argument(int count, char** words, int index, std::uint64_t otherwise) {
  return count > index ? std::strtoull(words[index], nullptr, 10) : otherwise;
}

}  // namespace

int main(int count, char** words) {
  OrderOptions options;
  options.samples_per_epoch = argument(count, words, 1, 10'000'000);
  options.mode = OrderMode::packed;
  options.packed = {"tokens", argument(count, words, 2, 8192), argument(count, words, 3, 4096)};
  options.lengths = texts(options.samples_per_epoch);

  const std::size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
  const double began = cpu_ms();
  const auto order = std::make_unique<Order>(options);
  const double made_ms = cpu_ms() - began;
  const std::size_t bytes = mallinfo2().uordblks + mallinfo2().hblkhd - before;

  const std::vector<double> find_ms = finds(options);
  const Walk packed = walk(options);
  options.mode = OrderMode::reshuffle;
  const Walk shuffled = walk(options);
  options.mode = OrderMode::sequential;
  const Walk sequential = walk(options);
  std::printf(
      "{\"samples\": %llu, \"budget\": %llu, \"among\": %llu,\n"
      " \"fill\": {\"packed\": %.4f, \"shuffled\": %.4f, \"sequential\": %.4f},\n"
      " \"find_ms\": {\"median\": %.3f, \"99%%\": %.3f, \"most\": %.3f},\n"
      " \"samples_per_second\": {\"packed\": %.0f, \"shuffled\": %.0f},\n"
      " \"longest_pause_ms\": {\"packed\": %.3f, \"shuffled\": %.3f},\n"
      " \"open_ms\": %.3f, \"bytes_a_sample\": %.3f}\n",
      static_cast<unsigned long long>(options.samples_per_epoch),
      static_cast<unsigned long long>(options.packed.budget),
      static_cast<unsigned long long>(options.packed.among), packed.fill, shuffled.fill,
      sequential.fill, find_ms[find_ms.size() / 2], find_ms[find_ms.size() * 99 / 100],
      find_ms.back(), packed.samples_per_second, shuffled.samples_per_second, packed.longest_ms,
      shuffled.longest_ms, made_ms,
      4 + static_cast<double>(bytes) / static_cast<double>(options.samples_per_epoch));
  return 0;
}
