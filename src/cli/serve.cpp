// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/interrupts.hpp"

#include <batchcast/batchcast.hpp>
#include <batchcast/core/clock.hpp>
#include <batchcast/core/limits.hpp>
#include <batchcast/data/synthetic.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

namespace batchcast::cli {
namespace {

struct Options {
  std::string source;
  std::string dtype = "f32";
  std::string order = "reshuffle";
  std::uint64_t samples = 50'000;
  std::string stream;
  std::string memory = "256MiB";
  std::uint32_t wait_for = 0;
  std::uint64_t epochs = 0;
  std::uint64_t seed = 0;
  unsigned workers = 1;
  std::uint32_t max_consumers = limits::consumers_default;
  std::string on_stall = "report";
  double stall_timeout_s = 60;
  double linger_s = -1;
  std::string huge_pages = "auto";
  std::vector<std::uint32_t> allow_uids;
  bool free_running = false;
  bool json = false;
  bool verbose = false;
};

// A loan takes the ring's lock twice: so many samples make that cheap, and no worker waits long for
// another's.
constexpr std::uint64_t loan_samples_max = 64;

SyntheticRecipe recipe_of(const Options& options) {
  if (options.source.rfind("synthetic:", 0) != 0) {
    throw InvalidArgument("batchcast: no source `" + options.source +
                          "`. This version serves `synthetic:SHAPE`, for example "
                          "synthetic:3x224x224; your own data is served from C++ with "
                          "batchcast::Producer.");
  }
  SyntheticRecipe recipe = SyntheticRecipe::parse(options.source);
  recipe.dtype = *parse_dtype(options.dtype);
  recipe.order = *parse_order_mode(options.order);
  recipe.samples_per_epoch = options.samples;
  recipe.seed = options.seed;
  if (options.epochs != 0) recipe.epochs = options.epochs;
  recipe.check();
  return recipe;
}

HugePages huge_pages_of(const std::string& name) {
  if (name == "off") return HugePages::off;
  if (name == "transparent") return HugePages::transparent;
  return name == "explicit" ? HugePages::explicit_pages : HugePages::automatic;
}

ProducerOptions producer_options(const Options& options, const SyntheticRecipe& recipe) {
  ProducerOptions serving;
  serving.stream = options.stream;
  serving.schema = recipe.schema();
  serving.memory = parse_bytes(options.memory);
  serving.samples_per_epoch = options.samples;
  serving.epochs = options.epochs;
  serving.wait_for = options.wait_for;
  serving.max_consumers = options.max_consumers;
  serving.free_running = options.free_running;
  serving.stall_timeout_ms = static_cast<std::uint64_t>(options.stall_timeout_s * 1000);
  serving.on_stall = options.on_stall == "evict" ? OnStall::evict : OnStall::report;
  serving.huge_pages = huge_pages_of(options.huge_pages);
  serving.recipe_json = recipe.to_json();
  serving.pure = true;
  serving.allow_uids = options.allow_uids;
  serving.log = console_log(options.verbose);
  return serving;
}

void fill(Loan& loan, const SyntheticRecipe& recipe) {
  const auto image = loan.field<std::byte>(SyntheticRecipe::image_field);
  const auto label = loan.field<std::int64_t>(SyntheticRecipe::label_field);
  const auto ids = loan.sample_ids();
  for (std::size_t i = 0; i < loan.size(); ++i) {
    ids[i] = recipe.sample_id_at(loan.position() + i);
    fill_synthetic({recipe.seed, loan.epoch(), ids[i]}, recipe.dtype, image[i]);
    label[i][0] = synthetic_label(recipe.seed, ids[i]);
  }
}

/// Threads that take loans until there are none; the first exception among them fails the stream.
class Workers {
 public:
  Workers(Producer& producer, const SyntheticRecipe& recipe, unsigned count)
      : running_(static_cast<int>(count)) {
    const std::uint64_t share = std::max<std::uint64_t>(1, producer.capacity() / (4 * count));
    const std::uint64_t samples = std::min(loan_samples_max, share);
    for (unsigned i = 0; i < count; ++i) {
      threads_.emplace_back([this, &producer, &recipe, samples] {
        try {
          while (auto loan = producer.loan(samples)) {
            fill(*loan, recipe);
            loan->publish();
          }
        } catch (const std::exception& error) {
          producer.fail(error.what());
          const std::lock_guard lock(mutex_);
          if (!failure_) failure_ = std::current_exception();
        }
        running_.fetch_sub(1);
      });
    }
  }
  ~Workers() {
    for (std::thread& thread : threads_) thread.join();
  }
  [[nodiscard]] bool running() const noexcept { return running_.load() != 0; }
  void rethrow_failure() {
    const std::lock_guard lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  std::atomic<int> running_;
  std::mutex mutex_;
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;
};

std::string progress_text(const ProducerStats& stats, std::uint64_t samples_per_epoch) {
  const double share = static_cast<double>(stats.published % samples_per_epoch) /
                       static_cast<double>(samples_per_epoch);
  std::string text =
      fmt::format("{}  epoch {} {:3.0f}%  {} samples/s  {} consumer{}", stats.state, stats.epoch,
                  100 * share, count_text(static_cast<std::uint64_t>(stats.samples_per_second)),
                  stats.consumers.size(), stats.consumers.size() == 1 ? "" : "s");
  const auto slowest =
      std::max_element(stats.consumers.begin(), stats.consumers.end(),
                       [](const ConsumerInfo& a, const ConsumerInfo& b) { return a.lag < b.lag; });
  if (stats.consumers.size() > 1) {
    text += fmt::format("  slowest {} ({} behind)", slowest->name, count_text(slowest->lag));
  }
  return text;
}

/// From the first sample to the moment when nobody needs the producer any more.
class Service {
 public:
  Service(const Options& options, Interrupts& interrupts, Producer& producer)
      : options_(options), interrupts_(interrupts), producer_(producer) {}

  void produce(const SyntheticRecipe& recipe) {
    Workers workers(producer_, recipe, options_.workers);
    while (workers.running()) {
      look();
      show();
    }
    workers.rethrow_failure();
  }

  /// The last epoch is made: stays for those who still read it. True if all of them have.
  [[nodiscard]] bool linger() {
    const std::uint64_t since_ns = now_ns();
    if (producer_.stats().consumers.empty()) {
      fmt::print(stderr,
                 "every epoch is made; staying for consumers (--linger, `batchcast stop {}`)\n",
                 options_.stream);
    }
    for (;;) {
      const std::string state = producer_.stats().state;
      if (state == "stopped" || state == "failed" || signal_ != 0) return false;
      if (producer_.finish(look_ms)) return true;
      look();
      show();
      if (options_.linger_s >= 0 && seconds_from_ns(now_ns() - since_ns) >= options_.linger_s) {
        return false;
      }
    }
  }

 private:
  static constexpr int look_ms = 100;

  void look() {
    if (signal_ != 0) {
      static_cast<void>(interrupts_.wait(0));
      return;
    }
    signal_ = interrupts_.wait(look_ms);
    if (signal_ == 0) return;
    producer_.stop(std::string("its producer got ") + (signal_ == SIGINT ? "SIGINT" : "SIGTERM"));
  }
  void show() {
    if (progress_.due()) progress_.show(progress_text(producer_.stats(), options_.samples));
  }

  const Options& options_;
  Interrupts& interrupts_;
  Producer& producer_;
  ProgressLine progress_;
  int signal_ = 0;
};

int run(const Options& options) {
  Interrupts interrupts;
  const SyntheticRecipe recipe = recipe_of(options);
  Producer producer(producer_options(options, recipe));
  fmt::print(stderr, "serving stream `{}` in {}: {} samples an epoch, ring of {} samples, {}\n",
             producer.stream(), producer.directory(), count_text(options.samples),
             count_text(producer.capacity()), bytes_text(producer.memory()));
  const std::uint64_t started_ns = now_ns();
  bool drained = false;
  {
    Service service(options, interrupts, producer);
    service.produce(recipe);
    drained = service.linger();
  }
  const ProducerStats stats = producer.stats();
  producer.stop("its producer ended");  // so that taking it down does not wait again
  const double seconds = seconds_from_ns(now_ns() - started_ns);
  if (options.json) {
    print_json({{"stream", options.stream},
                {"state", stats.state},
                {"published", stats.published},
                {"seconds", seconds},
                {"space_wait_seconds", stats.space_wait_seconds},
                {"late_wakeups", stats.late_wakeups},
                {"drained", drained}});
  } else {
    fmt::print("stream `{}` {}: {} samples in {:.1f} s, waited {:.1f} s for space\n",
               options.stream, stats.state, count_text(stats.published), seconds,
               stats.space_wait_seconds);
  }
  return exit_ok;
}

std::vector<std::string> strings(auto names) { return {names.begin(), names.end()}; }

void add_what(CLI::App& serve, Options& options) {
  serve.add_option("source", options.source, "What to serve: synthetic:SHAPE")->required();
  serve.add_option("--stream", options.stream, "Name of the stream")->required();
  serve.add_option("--memory", options.memory, "Bytes for samples, at most: 256MiB, 1GiB …")
      ->capture_default_str();
  serve.add_option("--dtype", options.dtype, "Of the synthetic image")
      ->capture_default_str()
      ->check(CLI::IsMember(strings(dtype_names)));
  serve.add_option("--samples", options.samples, "Samples of an epoch")
      ->capture_default_str()
      ->check(at_least(1));
  serve.add_option("--epochs", options.epochs, "How many; 0: until it is stopped")
      ->capture_default_str()
      ->check(at_least(0));
  serve.add_option("--seed", options.seed, "Of order and bytes")
      ->capture_default_str()
      ->check(at_least(0));
  serve
      .add_option("--order", options.order,
                  "reshuffle: every epoch its own; fixed: one shuffle; sequential")
      ->capture_default_str()
      ->check(CLI::IsMember(strings(order_mode_names)));
}

void add_how(CLI::App& serve, Options& options) {
  serve.add_option("--wait-for", options.wait_for, "Begin when so many consumers are attached")
      ->capture_default_str()
      ->check(at_least(0));
  serve.add_option("--workers", options.workers, "Threads that make samples")
      ->capture_default_str()
      ->check(CLI::Range(1, 256));
  serve.add_option("--max-consumers", options.max_consumers, "Places for consumers")
      ->capture_default_str()
      ->check(CLI::Range(std::uint32_t{1}, static_cast<std::uint32_t>(limits::consumers_max)));
  serve
      .add_option("--on-stall", options.on_stall,
                  "What becomes of a consumer that keeps the stream waiting: report, evict")
      ->capture_default_str()
      ->check(CLI::IsMember({"report", "evict"}));
  serve.add_option("--stall-timeout", options.stall_timeout_s, "After so many seconds of it")
      ->capture_default_str()
      ->check(above_zero());
  serve
      .add_option("--linger", options.linger_s,
                  "Seconds to stay after the last epoch for consumers that still read; -1: as long "
                  "as they do")
      ->capture_default_str();
  serve.add_option("--huge-pages", options.huge_pages, "auto: above 4 GiB, where there are any")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "off", "transparent", "explicit"}));
  serve.add_option("--allow-uid", options.allow_uids,
                   "Another user who may attach (a root container, user trainers)");
  serve.add_flag("--free-running", options.free_running,
                 "Produce also while nobody consumes in lockstep");
  serve.add_flag("--json", options.json, "Print one JSON object at the end");
  serve.add_flag("--verbose,-v", options.verbose, "Report more");
}

}  // namespace

void add_serve(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<Options>();
  CLI::App* serve = program.add_subcommand("serve", "Serve a dataset as a stream");
  serve->footer(
      "Example: a stream of ImageNet's shape, of which two trainers get every sample.\n"
      "  batchcast serve synthetic:3x224x224 --stream demo --memory 1GiB --wait-for 2 &\n"
      "  batchcast consume demo --batch-size 256 & batchcast consume demo --batch-size 37");
  add_what(*serve, *options);
  add_how(*serve, *options);
  serve->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace batchcast::cli
