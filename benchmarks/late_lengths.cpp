// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// Samples whose lengths are known once they are made, one in a hundred of which takes a hundred
// times as long: what a stream of four workers gives of the rate that the mean cost allows. Making
// sleeps, so that four workers do not need four cores. It prints one line of JSON.
//
// Usage: late_lengths [SAMPLES [STASH_BYTES]]
#include <batchcast/batchcast.hpp>
#include <batchcast/core/clock.hpp>
#include <batchcast/data/random.hpp>
#include <batchcast/feeder.hpp>

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>

namespace {

using namespace batchcast;

constexpr std::uint64_t usual_us = 300;
constexpr std::uint64_t slow_factor = 100;
constexpr unsigned workers = 4;

class SlowMaker final : public SampleMaker {
 public:
  explicit SlowMaker(std::uint64_t samples) : samples_(samples) {}
  const Schema& schema() const noexcept override { return schema_; }
  std::uint64_t samples_per_epoch() const noexcept override { return samples_; }
  std::string recipe_json() const override { return "{}"; }
  std::unique_ptr<SampleWorker> worker() const override { return std::make_unique<Worker>(*this); }
  std::uint64_t made_ns() const noexcept { return made_ns_.load(); }

 private:
  class Worker final : public SampleWorker {
   public:
    explicit Worker(const SlowMaker& maker) : maker_(maker) {}
    void make(const SampleSlots&) override { std::abort(); }  // no sample is made in place
    void make_apart(std::uint64_t, std::uint64_t index, MadeSample& made) override {
      const std::uint64_t began_ns = now_ns();
      const std::uint64_t drawn = detail::mix64(index);
      // The last ones are not slow: nothing could be made beside them.
      const bool is_slow = drawn % 100 == 0 && index + 150 < maker_.samples_;
      std::this_thread::sleep_for(
          std::chrono::microseconds(is_slow ? usual_us * slow_factor : usual_us));
      const std::uint64_t rows = drawn % 800;
      made.set_rows(0, rows);
      const std::span<std::byte> tokens = made.make(0, rows * 4);
      if (!tokens.empty()) std::memset(tokens.data(), static_cast<int>(index), tokens.size());
      made.sample_id = index;
      maker_.made_ns_ += now_ns() - began_ns;
    }
    MakerTimes times() const noexcept override { return {}; }

   private:
    const SlowMaker& maker_;
  };

  Schema schema_ = {{"tokens", DType::i32, Axis{"tokens"}}};
  std::uint64_t samples_;
  mutable std::atomic<std::uint64_t> made_ns_{0};
};

/// Whether each byte of the batch is what the maker wrote.
bool is_right(const Batch& batch) {
  const auto rows = batch.rows<std::int32_t>("tokens");
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const std::uint64_t index = batch.position() + i;
    std::int32_t value = 0;
    std::memset(&value, static_cast<int>(index), sizeof value);
    for (const std::int32_t token : rows[i].span()) {
      if (token != value) return false;
    }
  }
  return true;
}

int run(std::uint64_t samples, std::optional<std::uint64_t> stash) {
  const SlowMaker maker(samples);
  std::string directory = std::filesystem::temp_directory_path() / "late-lengths-XXXXXX";
  if (::mkdtemp(directory.data()) == nullptr) return 1;
  std::uint64_t bad = 0;
  double share = 0;
  {
    ProducerOptions options = producer_options(maker, "late", true);
    options.epochs = 1;
    options.memory = 16 << 20;
    options.rows_per_sample = {{"tokens", 400}};
    options.directory = directory;
    options.wait_for = 1;
    Producer producer(options);
    ConsumerOptions joining;
    joining.stream = "late";
    joining.directory = directory;
    joining.budget = {"tokens", 16'384};
    Consumer consumer(joining);
    const std::uint64_t began_ns = now_ns();
    Feeder feeder(producer, maker, {workers, stash});
    for (const Batch& batch : consumer) bad += is_right(batch) ? 0 : 1;
    const double wall_ns = static_cast<double>(now_ns() - began_ns);
    share = static_cast<double>(maker.made_ns()) / workers / wall_ns;
    feeder.wait();
  }
  std::filesystem::remove_all(directory);
  std::printf("{\"of_the_rate_that_the_mean_cost_allows\": %.3f, \"bad\": %llu}\n", share,
              static_cast<unsigned long long>(bad));
  return bad == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::uint64_t samples = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 24'000;
    std::optional<std::uint64_t> stash;
    if (argc > 2) stash = std::strtoull(argv[2], nullptr, 10);
    return run(samples, stash);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
