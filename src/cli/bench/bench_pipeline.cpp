// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/bench/measure.hpp"
#include "cli/cache_json.hpp"
#include "cli/child_process.hpp"
#include "cli/command.hpp"
#include "cli/option_table.hpp"
#include "cli/output.hpp"
#include "serving/cache_report.hpp"
#include "serving/serve_table.hpp"

#include <batchcast/batchcast.hpp>
#include <batchcast/feeder.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

// How many samples a second a pipeline makes: read, decoded and written into a ring that a consumer
// in the same process releases as they are published.
namespace batchcast::cli {
namespace {

using serving::Dataset;

struct Options {
  serving::DatasetOptions dataset;
  std::optional<std::uint32_t> workers;
  std::uint64_t memory = ProducerOptions().memory;
  std::uint64_t batch_size = 64;
  double seconds = 10;
  bool json = false;
};

options::Table<Options> pipeline_options() {
  options::Table<Options> table;
  table.include(&Options::dataset, serving::dataset_options());
  table.heading("The measurement");
  serving::add_workers(table, &Options::workers);
  table.add("seconds", &Options::seconds, "How long, after a warm-up.").above_zero();
  table.bytes("memory", &Options::memory, "Bytes of the ring.");
  table.add("batch_size", &Options::batch_size, "Samples that are released at a time.").from(1);
  table.add("json", &Options::json, "Print one JSON object.");
  return table;
}

struct Measured {
  std::uint64_t samples = 0;
  double seconds = 0;
  double cpu = 0;
  std::uint64_t warm_up_samples = 0;
  double warm_up_seconds = 0;
  double warm_up_cpu = 0;
  FeederStats before;
  FeederStats after;
};

Measured measure(Consumer& consumer, const Feeder& feeder, const Options& options) {
  const auto take = [&consumer]() -> std::uint64_t {
    const NextBatch next = consumer.try_next(100);
    return next.outcome == Outcome::batch ? next.batch.size() : 0;
  };
  Measured measured;
  const WarmUp warm_up(consumer.samples_per_epoch(), options.dataset.cache.has_value());
  const std::uint64_t warmed_ns = now_ns();
  const double cpu_at_start = cpu_seconds();
  while (!warm_up.over(measured.warm_up_samples)) measured.warm_up_samples += take();
  measured.warm_up_seconds = seconds_from_ns(now_ns() - warmed_ns);
  measured.warm_up_cpu = cpu_seconds() - cpu_at_start;
  measured.before = feeder.stats();
  const double cpu_before = cpu_seconds();
  const std::uint64_t began_ns = now_ns();
  while (measured.seconds < options.seconds) {
    measured.samples += take();
    measured.seconds = seconds_from_ns(now_ns() - began_ns);
  }
  measured.cpu = cpu_seconds() - cpu_before;
  measured.after = feeder.stats();
  return measured;
}

void print_measured(const Options& options, const Measured& measured, const Dataset& dataset) {
  const double rate = static_cast<double>(measured.samples) / measured.seconds;
  const double read = measured.after.reading_seconds - measured.before.reading_seconds;
  const double make = measured.after.making_seconds - measured.before.making_seconds;
  const double wait = measured.after.waiting_seconds - measured.before.waiting_seconds;
  if (options.json) {
    print_json({{"source", options.dataset.source},
                {"workers", measured.after.workers},
                {"samples_per_second", rate},
                {"samples", measured.samples},
                {"seconds", measured.seconds},
                {"cpu_seconds", measured.cpu},
                {"bad_samples", dataset.bad_samples()},
                {"cache", json_of(dataset.cache_stats())},
                {"warm_up",
                 {{"samples", measured.warm_up_samples},
                  {"seconds", measured.warm_up_seconds},
                  {"cpu_seconds", measured.warm_up_cpu}}},
                {"stages", {{"read", read}, {"make", make}, {"wait", wait}}}});
    return;
  }
  fmt::print("{} samples/s: {} in {:.1f} s with {}, {:.1f} s of processor time\n",
             count_text(static_cast<std::uint64_t>(rate)), counted(measured.samples, "sample"),
             measured.seconds, counted(measured.after.workers, "worker"), measured.cpu);
  fmt::print("the workers read for {:.1f} s, made samples for {:.1f} s, waited for {:.1f} s\n",
             read, make, wait);
  if (const std::string cache = serving::cache_report(dataset.cache_stats()); !cache.empty()) {
    fmt::print("{}\n", cache);
  }
}

int run(const Options& options) {
  const FeederOptions feeding{.workers = options.workers.value_or(0)};
  const TemporaryDirectory directory;
  const Dataset dataset(options.dataset, console_log(false));
  ProducerOptions serving = producer_options(dataset.maker(), "bench");
  serving.memory = options.memory;
  serving.wait_for = 1;
  serving.directory = directory.path();
  Producer producer(serving);
  const Feeder feeder(producer, dataset.maker(), feeding);
  // More than a quarter of the ring in one batch would keep the workers waiting for it.
  const std::uint64_t batch_max = std::max<std::uint64_t>(1, producer.capacity() / 4);
  Consumer consumer({.stream = "bench",
                     .batch_size = std::min(options.batch_size, batch_max),
                     .directory = directory.path()});
  const Measured measured = measure(consumer, feeder, options);
  print_measured(options, measured, dataset);
  return exit_ok;
}

}  // namespace

void add_bench_pipeline(CLI::App& bench, Action& chosen) {
  auto options = std::make_shared<Options>();
  CLI::App* pipeline = bench.add_subcommand(
      "pipeline",
      "Samples a second that a recipe makes into a ring whose samples are released at once");
  add_options(*pipeline, pipeline_options(), *options, {"source"});
  pipeline->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace batchcast::cli
