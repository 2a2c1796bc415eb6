// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// Hands batches of a device ring to processes of their own, with the payload left alone, and prints
// one JSON line. See README.md in this folder.
//   rate: batches a second, each consumer launches a kernel for every batch
//   latency: from publication in host memory to the launch of a consumer that spins
//   memory: what attached consumers take of the GPU beside their contexts
#include "cli/child_process.hpp"
#include "gpu_support.hpp"

#include <batchcast/batchcast.hpp>
#include <batchcast/core/clock.hpp>
#include <batchcast/ring/capacity.hpp>
#include <batchcast/ring/memory.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <fstream>
#include <vector>

namespace batchcast::bench {
namespace {

constexpr std::uint64_t samples_per_batch = 64;

struct Options {
  std::string mode = "rate";
  std::uint64_t batch_bytes = 38'535'168;
  std::uint64_t batches = 20'000;
  std::uint64_t in_flight = 16;
  std::uint64_t gap_us = 200;  // latency: between publications
  std::uint32_t consumers = 1;
  // Of the children.
  std::string directory;
  unsigned child = 0;
};

using Latencies = std::vector<std::uint64_t>;

double percentile_us(Latencies& all, double share) {
  const auto at = static_cast<std::ptrdiff_t>(share * static_cast<double>(all.size() - 1));
  std::nth_element(all.begin(), all.begin() + at, all.end());
  return static_cast<double>(all[static_cast<std::size_t>(at)]) / 1000;
}

// ---- consumers

/// Reports to the parent, and waits for its word.
void meet(const Options& options, const std::string& what) {
  std::ofstream(options.directory + "/" + what + "." + std::to_string(options.child)).put('x');
  while (!std::filesystem::exists(options.directory + "/go-" + what)) ::usleep(1000);
}

void check_batch(const Batch& batch, std::uint64_t& expected, std::uint64_t& bad) {
  for (const std::uint64_t id : batch.sample_ids()) bad += id != expected++;
}

int run_consumer(const Options& options) {
  Launcher launcher(detail::cuda::Device::open(0));
  launcher.launch_once();  // else the memory that its first launch takes would count
  meet(options, "context");
  Consumer consumer({.stream = stream_name,
                     .batch_size = samples_per_batch,
                     .name = "bench",
                     .placement = Placement::on_cuda(0),
                     .spin_us = options.mode == "latency" ? 0U : 50U,
                     .directory = options.directory});
  consumer.set_cuda_stream(launcher.stream());
  std::uint64_t expected = 0;
  std::uint64_t bad = 0;
  Latencies latencies;
  latencies.reserve(options.batches);
  for (;;) {
    const NextBatch next = consumer.try_next(options.mode == "latency" ? 0 : -1);
    if (next.outcome == Outcome::end_of_epoch) break;
    if (next.outcome == Outcome::timed_out) continue;
    const Batch& batch = next.batch;
    launcher.launch(batch.device_field<std::byte>(0).data());
    if (options.mode == "latency") {
      latencies.push_back(now_ns() - batch.field<std::uint64_t>(1)[batch.size() - 1][0]);
    }
    check_batch(batch, expected, bad);
    if (options.mode == "memory" && expected == samples_per_batch) meet(options, "attached");
  }
  const std::uint64_t ended_ns = now_ns();
  bad += expected != options.batches * samples_per_batch;
  bad += consumer.stats().epochs_matched != 1;
  print_line({{"ended_ns", ended_ns},
              {"bad", bad},
              {"launched", launcher.what()},
              {"latencies", latencies}});
  return 0;
}

// ---- the producer

/// Until all consumers have come so far.
void await(const Options& options, const std::string& what) {
  for (unsigned i = 0; i < options.consumers; ++i) {
    while (!std::filesystem::exists(options.directory + "/" + what + "." + std::to_string(i))) {
      ::usleep(1000);
    }
  }
}

void release(const Options& options, const std::string& what) {
  std::ofstream(options.directory + "/go-" + what).put('x');
}

Producer make_producer(const Options& options, const detail::cuda::Device& device) {
  const std::uint64_t samples = options.in_flight * samples_per_batch;
  const std::uint64_t sample_bytes = options.batch_bytes / samples_per_batch;
  Schema host = Untouched::host_schema();
  host.push_back({std::string(sample_id_name), DType::u64, {}});
  const Schema on_device = {{"data", DType::u8, {static_cast<std::int64_t>(sample_bytes)}}};
  return Producer({.stream = stream_name,
                   .schema = Untouched::host_schema(),
                   .memory = memory_for(host, samples, page_bytes()),
                   .samples_per_epoch = options.batches * samples_per_batch,
                   .epochs = 1,
                   .wait_for = options.consumers,
                   .places = {Placement::on_cuda(device.info().number)},
                   .device_memory = memory_for(on_device, samples, device.info().granularity),
                   .host_fields = {"sent_ns"},
                   .device_stage = std::make_shared<Untouched>(sample_bytes),
                   .directory = options.directory});
}

/// Awake, so that the hand-off finds its core awake too.
void pass(std::uint64_t microseconds) {
  const std::uint64_t until_ns = now_ns() + microseconds * 1000;
  while (now_ns() < until_ns) {
  }
}

void produce(Producer& producer, const Options& options) {
  while (auto loan = producer.loan(samples_per_batch)) {
    const auto ids = loan->sample_ids();
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = loan->position() + i;
    if (options.mode == "latency") pass(options.gap_us);
    loan->field<std::uint64_t>(0)[loan->size() - 1][0] = now_ns();
    loan->publish();
  }
}

std::vector<cli::ChildProcess> start_consumers(const Options& options) {
  std::vector<cli::ChildProcess> children;
  for (std::uint32_t i = 0; i < options.consumers; ++i) {
    children.emplace_back(std::vector<std::string>{
        "--mode", options.mode, "--batches", std::to_string(options.batches), "--directory",
        options.directory, "--child", std::to_string(i)});
  }
  return children;
}

struct Reports {
  std::uint64_t ended_ns = 0;
  std::uint64_t bad = 0;
  std::string launched;
  Latencies latencies;
};

Reports collect(std::vector<cli::ChildProcess>& children) {
  Reports all;
  for (cli::ChildProcess& child : children) {
    const auto report = nlohmann::json::parse(cli::last_line(child.result()));
    all.ended_ns = std::max(all.ended_ns, report.at("ended_ns").get<std::uint64_t>());
    all.bad += report.at("bad").get<std::uint64_t>();
    all.launched = report.at("launched");
    for (const auto& ns : report.at("latencies")) all.latencies.push_back(ns);
  }
  return all;
}

int run(Options options) {
  if (options.batch_bytes < samples_per_batch || options.batch_bytes % samples_per_batch != 0) {
    throw InvalidArgument("--batch-bytes must be a multiple of 64 samples");
  }
  const cli::TemporaryDirectory directory;
  options.directory = directory.path();
  const auto device = detail::cuda::Device::open(0);
  Producer producer = make_producer(options, *device);
  std::vector<cli::ChildProcess> children = start_consumers(options);
  await(options, "context");
  const std::uint64_t free_before = device->free_bytes();
  release(options, "context");
  while (producer.stats().consumers.size() < options.consumers) ::usleep(1000);
  const std::uint64_t began_ns = now_ns();
  std::int64_t taken = 0;
  if (options.mode == "memory") {
    auto loan = producer.loan(samples_per_batch);
    loan->publish();
    await(options, "attached");
    taken =
        static_cast<std::int64_t>(free_before) - static_cast<std::int64_t>(device->free_bytes());
    release(options, "attached");
  }
  produce(producer, options);
  Reports reports = collect(children);
  nlohmann::json result = {{"mode", options.mode},
                           {"device", device->info().name},
                           {"batch_bytes", options.batch_bytes},
                           {"consumers", options.consumers},
                           {"batches", options.batches},
                           {"launched", reports.launched},
                           {"bad", reports.bad}};
  if (options.mode == "rate") {
    result["batches_per_second"] =
        static_cast<double>(options.batches) / seconds_from_ns(reports.ended_ns - began_ns);
  } else if (options.mode == "latency") {
    result["p50_us"] = percentile_us(reports.latencies, 0.5);
    result["p99_us"] = percentile_us(reports.latencies, 0.99);
  } else {
    result["ring_bytes"] = options.in_flight * options.batch_bytes;
    result["consumers_bytes"] = taken;
  }
  print_line(result);
  return reports.bad == 0 ? 0 : 1;
}

}  // namespace
}  // namespace batchcast::bench

int main(int argc, char** argv) {
  using namespace batchcast::bench;
  try {
    Options options;
    Words words(argc, argv);
    words.read("mode", options.mode);
    words.read("batch-bytes", options.batch_bytes);
    words.read("batches", options.batches);
    words.read("in-flight", options.in_flight);
    words.read("gap-us", options.gap_us);
    words.read("consumers", options.consumers);
    words.read("directory", options.directory);
    words.read("child", options.child);
    words.check_all_read();
    return options.directory.empty() ? run(options) : run_consumer(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 3;
  }
}
