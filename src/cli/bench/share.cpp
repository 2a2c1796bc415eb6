// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/bench/measure.hpp"
#include "cli/child_process.hpp"
#include "cli/command.hpp"
#include "cli/option_table.hpp"
#include "cli/output.hpp"
#include "serving/serve_table.hpp"

#include <batchcast/batchcast.hpp>
#include <batchcast/core/limits.hpp>
#include <batchcast/feeder.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

// How many samples a second several trainers get of one pipeline: consumers in processes of their
// own, which look at one value of every sample.
namespace batchcast::cli {
namespace {

using serving::Dataset;
using Json = nlohmann::json;

constexpr const char* stream_name = "bench";

struct Options {
  serving::DatasetOptions dataset;
  std::optional<std::uint32_t> workers;
  std::uint64_t memory = ProducerOptions().memory;
  std::uint32_t consumers = 4;
  std::uint64_t batch_size = 64;
  double seconds = 10;
  bool json = false;
  // Of the hidden consumer.
  std::string directory;
  bool fills_cache = false;
};

options::Table<Options> share_options() {
  options::Table<Options> table;
  table.include(&Options::dataset, serving::dataset_options());
  table.heading("The measurement");
  serving::add_workers(table, &Options::workers);
  table.add("consumers", &Options::consumers, "Consumers, each of which gets every sample.")
      .from(1, limits::consumers_max);
  table.add("batch_size", &Options::batch_size, "Samples of a batch.").from(1);
  table.add("seconds", &Options::seconds, "How long, after a warm-up.").above_zero();
  table.bytes("memory", &Options::memory, "Bytes of the ring.");
  table.add("json", &Options::json, "Print one JSON object.");
  return table;
}

// ---- a consumer

/// Memory that this process shares with no other.
std::uint64_t private_bytes() {
  std::ifstream rollup("/proc/self/smaps_rollup");
  std::uint64_t kilobytes = 0;
  for (std::string line; std::getline(rollup, line);) {
    if (!line.starts_with("Private_Clean:") && !line.starts_with("Private_Dirty:")) continue;
    kilobytes += std::stoull(line.substr(line.find(':') + 1));
  }
  return kilobytes * 1024;
}

class Trainer {
 public:
  explicit Trainer(Consumer& consumer) : consumer_(consumer) {}

  /// How many samples came.
  std::uint64_t take() {
    const NextBatch next = consumer_.try_next(100);
    if (next.outcome != Outcome::batch) return 0;
    const auto field = next.batch.field<std::byte>(0);
    for (std::size_t i = 0; i < field.size(); ++i) {
      sum_ += static_cast<std::uint64_t>(field[i].front());
    }
    return next.batch.size();
  }
  [[nodiscard]] std::uint64_t sum() const noexcept { return sum_; }

 private:
  Consumer& consumer_;
  std::uint64_t sum_ = 0;
};

int run_consumer(const Options& options) {
  Consumer consumer({.stream = stream_name,
                     .batch_size = options.batch_size,
                     .name = "trainer",
                     .directory = options.directory});
  Trainer trainer(consumer);
  const WarmUp warm_up(consumer.samples_per_epoch(), options.fills_cache);
  for (std::uint64_t samples = 0; !warm_up.over(samples);) samples += trainer.take();
  const double cpu_before = cpu_seconds();
  const std::uint64_t began_ns = now_ns();
  std::uint64_t samples = 0;
  double seconds = 0;
  while (seconds < options.seconds) {
    samples += trainer.take();
    seconds = seconds_from_ns(now_ns() - began_ns);
  }
  const double cpu = cpu_seconds() - cpu_before;
  const std::uint64_t ended_ns = now_ns();
  // Goes on for a moment, so that no other trainer measures a stream with one consumer less.
  while (seconds_from_ns(now_ns() - ended_ns) < 0.3) static_cast<void>(trainer.take());
  print_json({{"samples_per_second", static_cast<double>(samples) / seconds},
              {"cpu_seconds", cpu},
              {"private_bytes", private_bytes()},
              {"began_ns", began_ns},
              {"ended_ns", ended_ns},
              {"sum", trainer.sum()}});
  return exit_ok;
}

// ---- the producer

/// Notes this process's processor time every now and then: when the consumers measured is known
/// only afterwards.
class CpuRecord {
 public:
  CpuRecord() : thread_([this] { record(); }) {}
  ~CpuRecord() { stop(); }
  CpuRecord(const CpuRecord&) = delete;
  CpuRecord& operator=(const CpuRecord&) = delete;

  void stop() {
    stops_.store(true);
    if (thread_.joinable()) thread_.join();
  }
  /// Once it is stopped.
  [[nodiscard]] double between(std::uint64_t began_ns, std::uint64_t ended_ns) const {
    return at(ended_ns) - at(began_ns);
  }

 private:
  struct Entry {
    std::uint64_t ns;
    double cpu;
  };
  void record() {
    while (!stops_.load()) {
      entries_.push_back({now_ns(), cpu_seconds()});
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    entries_.push_back({now_ns(), cpu_seconds()});
  }
  [[nodiscard]] double at(std::uint64_t ns) const {
    const auto found = std::lower_bound(entries_.begin(), entries_.end(), ns,
                                        [](const Entry& e, std::uint64_t t) { return e.ns < t; });
    return found == entries_.end() ? entries_.back().cpu : found->cpu;
  }

  std::atomic<bool> stops_{false};
  std::vector<Entry> entries_;
  std::thread thread_;
};

ProducerOptions serving_options(const Options& options, const Dataset& dataset) {
  ProducerOptions serving = producer_options(dataset.maker(), stream_name);
  serving.memory = options.memory;
  serving.wait_for = options.consumers;
  serving.max_consumers = std::max(options.consumers, serving.max_consumers);
  serving.directory = options.directory;
  return serving;
}

std::vector<ChildProcess> start_consumers(const Options& options) {
  std::vector<ChildProcess> children;
  for (std::uint32_t i = 0; i < options.consumers; ++i) {
    std::vector<std::string> words = {"bench",        "share-consumer",
                                      "--directory",  options.directory,
                                      "--batch-size", std::to_string(options.batch_size),
                                      "--seconds",    fmt::format("{}", options.seconds)};
    if (options.dataset.cache) words.emplace_back("--fills-cache");
    children.emplace_back(std::move(words));
  }
  return children;
}

void print_result(const Options& options, const Json& result) {
  if (options.json) {
    print_json(result);
    return;
  }
  fmt::print("{} samples/s altogether; the producer took {:.1f} s of processor time\n",
             count_text(static_cast<std::uint64_t>(result["total_samples_per_second"])),
             result["producer_cpu_seconds"].get<double>());
  std::vector<std::vector<std::string>> table = {{"consumer", "samples/s", "cpu s", "private"}};
  for (const Json& row : result["consumers"]) {
    table.push_back({std::to_string(table.size()),
                     count_text(static_cast<std::uint64_t>(row["samples_per_second"])),
                     fmt::format("{:.2f}", row["cpu_seconds"].get<double>()),
                     bytes_text(row["private_bytes"].get<std::uint64_t>())});
  }
  print_table(table);
}

int run(Options options) {
  const FeederOptions feeding{.workers = options.workers.value_or(0)};
  const TemporaryDirectory directory;
  options.directory = directory.path();
  const Dataset dataset(options.dataset, console_log(false));
  Producer producer(serving_options(options, dataset));
  if (options.batch_size > producer.capacity()) {
    throw InvalidArgument(fmt::format(
        "batchcast: a batch of {} does not fit into a ring of {} samples. Give more --memory.",
        options.batch_size, producer.capacity()));
  }
  std::vector<ChildProcess> children = start_consumers(options);
  CpuRecord cpu;
  const Feeder feeder(producer, dataset.maker(), feeding);
  Json consumers = Json::array();
  double total = 0;
  std::uint64_t began_ns = ~std::uint64_t{0};
  std::uint64_t ended_ns = 0;
  for (ChildProcess& child : children) {
    Json row = Json::parse(last_line(child.result()));
    began_ns = std::min(began_ns, row["began_ns"].get<std::uint64_t>());
    ended_ns = std::max(ended_ns, row["ended_ns"].get<std::uint64_t>());
    total += row["samples_per_second"].get<double>();
    for (const char* key : {"began_ns", "ended_ns", "sum"}) row.erase(key);
    consumers.push_back(std::move(row));
  }
  cpu.stop();
  print_result(options, {{"source", options.dataset.source},
                         {"workers", feeder.stats().workers},
                         {"batch_size", options.batch_size},
                         {"seconds", options.seconds},
                         {"total_samples_per_second", total},
                         {"consumers", std::move(consumers)},
                         {"producer_cpu_seconds", cpu.between(began_ns, ended_ns)}});
  return exit_ok;
}

}  // namespace

void add_bench_share(CLI::App& bench, Action& chosen) {
  auto options = std::make_shared<Options>();
  CLI::App* share = bench.add_subcommand(
      "share", "Samples a second that K consumers, each a separate process, get of one pipeline");
  add_options(*share, share_options(), *options, {"source"});
  share->callback([options, &chosen] { chosen = [options] { return run(*options); }; });

  CLI::App* consumer = bench.add_subcommand("share-consumer", "")->group("");
  consumer->add_option("--directory", options->directory);
  consumer->add_option("--batch-size", options->batch_size);
  consumer->add_option("--seconds", options->seconds);
  consumer->add_flag("--fills-cache", options->fills_cache);
  consumer->callback([options, &chosen] { chosen = [options] { return run_consumer(*options); }; });
}

}  // namespace batchcast::cli
