// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/child_process.hpp"
#include "cli/command.hpp"
#include "cli/output.hpp"

#include <batchcast/batchcast.hpp>
#include <batchcast/core/clock.hpp>
#include <batchcast/ring/futex.hpp>
#include <batchcast/ring/memory.hpp>

#include <fmt/format.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>

// How long a sample takes from `publish` to its consumer: one that looks all the time, one that
// sleeps, and beside them what a bare futex between two processes takes.
namespace batchcast::cli {
namespace {

struct Options {
  std::uint64_t samples = 2'000;
  int rounds = 5;
  bool json = false;
  // Of the hidden children.
  std::string directory;
  std::string stream;
  std::string shared;
  bool spin = false;
};

// Longer than any hand-off takes: the one before is over, and the consumer that waits is asleep.
constexpr auto spinning_gap = std::chrono::microseconds(50);
constexpr auto sleeping_gap = std::chrono::microseconds(500);

using Latencies = std::vector<std::uint64_t>;

void append(Latencies& all, ChildProcess& child) {
  for (const auto& ns : nlohmann::json::parse(last_line(child.result()))) {
    all.push_back(ns.get<std::uint64_t>());
  }
}

double percentile_us(Latencies& all, double share) {
  const auto at = static_cast<std::ptrdiff_t>(share * static_cast<double>(all.size() - 1));
  std::nth_element(all.begin(), all.begin() + at, all.end());
  return static_cast<double>(all[static_cast<std::size_t>(at)]) / 1000;
}

/// Waits without sleeping, so that the hand-off finds the producer's core awake.
void pass(std::chrono::microseconds gap) {
  const std::uint64_t until = now_ns() + static_cast<std::uint64_t>(gap.count()) * 1000;
  while (now_ns() < until) {
  }
}

// ---- through a ring

int run_consumer(const Options& options) {
  Consumer consumer({.stream = options.stream,
                     .batch_size = 1,
                     .name = "latency",
                     .spin_us = 0,
                     .directory = options.directory});
  Latencies latencies;
  latencies.reserve(options.samples);
  const int timeout_ms = options.spin ? 0 : -1;
  for (;;) {
    const NextBatch next = consumer.try_next(timeout_ms);
    if (next.outcome == Outcome::end_of_epoch) break;
    if (next.outcome == Outcome::timed_out) continue;
    const std::uint64_t sent_ns = next.batch.field<std::uint64_t>(0)[0][0];
    latencies.push_back(now_ns() - sent_ns);
  }
  print_json(latencies);
  return exit_ok;
}

void through_a_ring(const Options& options, const TemporaryDirectory& directory, bool spin,
                    Latencies& all) {
  const std::string stream = spin ? "spinning" : "sleeping";
  Producer producer({.stream = stream,
                     .schema = {{"sent_ns", DType::u64}},
                     .memory = 1 << 20,
                     .samples_per_epoch = options.samples,
                     .epochs = 1,
                     .wait_for = 1,
                     .directory = directory.path()});
  std::vector<std::string> arguments = {"bench",       "latency-consumer",
                                        "--directory", directory.path(),
                                        "--stream",    stream,
                                        "--samples",   std::to_string(options.samples)};
  if (spin) arguments.push_back("--spin");
  ChildProcess child(arguments);
  while (producer.stats().consumers.empty()) ::usleep(1000);
  ::usleep(20'000);
  while (auto loan = producer.loan(1)) {
    pass(spin ? spinning_gap : sleeping_gap);
    loan->field<std::uint64_t>(0)[0][0] = now_ns();
    loan->publish();
  }
  append(all, child);
}

// ---- through a futex alone

struct Bare {
  std::atomic<std::uint32_t> word;
  std::atomic<std::uint32_t> taken;
  std::atomic<std::uint64_t> sent_ns;
};

int run_bare(const Options& options) {
  FileDescriptor fd(::open(options.shared.c_str(), O_RDWR | O_CLOEXEC));
  const Segment segment = Segment::adopt("bare", std::move(fd), page_bytes(), Seals::none);
  const Mapping mapping(segment, MapMode::read_write);
  Bare& bare = *reinterpret_cast<Bare*>(mapping.data());
  Latencies latencies;
  latencies.reserve(options.samples);
  bare.taken.store(1);
  for (std::uint32_t seen = 0; seen < options.samples;) {
    if (bare.word.load() == seen) futex_wait(bare.word, seen, 1000);
    if (bare.word.load() == seen) continue;
    latencies.push_back(now_ns() - bare.sent_ns.load());
    ++seen;
  }
  print_json(latencies);
  return exit_ok;
}

void through_a_futex(const Options& options, Latencies& all) {
  const Segment segment = Segment::create_small("bare", page_bytes());
  const Mapping mapping(segment, MapMode::read_write);
  Bare& bare = *reinterpret_cast<Bare*>(mapping.data());
  ChildProcess child({"bench", "latency-bare", "--shared",
                      fmt::format("/proc/{}/fd/{}", ::getpid(), segment.fd()), "--samples",
                      std::to_string(options.samples)});
  while (bare.taken.load() == 0) ::usleep(1000);
  for (std::uint64_t i = 0; i < options.samples; ++i) {
    pass(sleeping_gap);
    bare.sent_ns.store(now_ns());
    bare.word.fetch_add(1);
    futex_wake(bare.word);
  }
  append(all, child);
}

int run(const Options& options) {
  const TemporaryDirectory directory;
  Latencies spinning, sleeping, futex;
  for (int round = 0; round < options.rounds; ++round) {
    through_a_ring(options, directory, true, spinning);
    through_a_ring(options, directory, false, sleeping);
    through_a_futex(options, futex);
  }
  const nlohmann::json result = {{"spinning_p50_us", percentile_us(spinning, 0.5)},
                                 {"spinning_p99_us", percentile_us(spinning, 0.99)},
                                 {"sleeping_p50_us", percentile_us(sleeping, 0.5)},
                                 {"sleeping_p99_us", percentile_us(sleeping, 0.99)},
                                 {"futex_p50_us", percentile_us(futex, 0.5)},
                                 {"futex_p99_us", percentile_us(futex, 0.99)}};
  if (options.json) {
    print_json(result);
    return exit_ok;
  }
  print_table(
      {{"from publish to a consumer", "p50 us", "p99 us"},
       {"that looks all the time", fmt::format("{:.2f}", result["spinning_p50_us"].get<double>()),
        fmt::format("{:.2f}", result["spinning_p99_us"].get<double>())},
       {"that sleeps", fmt::format("{:.2f}", result["sleeping_p50_us"].get<double>()),
        fmt::format("{:.2f}", result["sleeping_p99_us"].get<double>())},
       {"a bare futex hand-off", fmt::format("{:.2f}", result["futex_p50_us"].get<double>()),
        fmt::format("{:.2f}", result["futex_p99_us"].get<double>())}});
  return exit_ok;
}

}  // namespace

void add_bench_latency(CLI::App& bench, Action& chosen) {
  auto options = std::make_shared<Options>();
  CLI::App* latency = bench.add_subcommand(
      "latency", "Time from publish to a consumer, spinning and asleep, beside a bare futex");
  latency->add_option("--samples", options->samples, "Hand-offs of each kind in a round")
      ->capture_default_str()
      ->check(CLI::Range(100, 10'000'000));
  latency->add_option("--rounds", options->rounds, "Rounds, the kinds in turns")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  latency->add_flag("--json", options->json, "Print one JSON object");
  latency->callback([options, &chosen] { chosen = [options] { return run(*options); }; });

  CLI::App* consumer = bench.add_subcommand("latency-consumer", "")->group("");
  consumer->add_option("--directory", options->directory);
  consumer->add_option("--stream", options->stream);
  consumer->add_option("--samples", options->samples);
  consumer->add_flag("--spin", options->spin);
  consumer->callback([options, &chosen] { chosen = [options] { return run_consumer(*options); }; });

  CLI::App* bare = bench.add_subcommand("latency-bare", "")->group("");
  bare->add_option("--shared", options->shared);
  bare->add_option("--samples", options->samples);
  bare->callback([options, &chosen] { chosen = [options] { return run_bare(*options); }; });
}

}  // namespace batchcast::cli
