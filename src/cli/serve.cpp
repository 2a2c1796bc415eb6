// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/dataset_options.hpp"
#include "cli/interrupts.hpp"
#include "cli/service.hpp"

#include <batchcast/batchcast.hpp>
#include <batchcast/core/clock.hpp>
#include <batchcast/core/limits.hpp>
#include <batchcast/feeder.hpp>

#include "core/named_thread.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <optional>

namespace batchcast::cli {
namespace {

struct Options {
  DatasetOptions dataset;
  std::string stream;
  std::string memory = "256MiB";
  std::vector<std::string> places;
  std::optional<std::string> device_memory;
  std::vector<std::string> host_fields;
  std::uint32_t wait_for = 0;
  std::uint64_t epochs = 0;
  WorkersOption workers;
  std::uint32_t max_consumers = limits::consumers_default;
  std::string on_stall = "report";
  double stall_timeout_s = 60;
  double linger_s = -1;
  double idle_exit_s = -1;
  std::string huge_pages = "auto";
  std::vector<std::uint32_t> allow_uids;
  bool free_running = false;
  bool json = false;
  bool verbose = false;
};

HugePages huge_pages_of(const std::string& name) {
  if (name == "off") return HugePages::off;
  if (name == "transparent") return HugePages::transparent;
  return name == "explicit" ? HugePages::explicit_pages : HugePages::automatic;
}

DatasetOptions dataset_options(const Options& options) {
  DatasetOptions dataset = options.dataset;
  if (options.epochs != 0) dataset.epochs = options.epochs;
  return dataset;
}

std::vector<Placement> places_of(const Options& options) {
  return {options.places.begin(), options.places.end()};
}

std::uint64_t device_memory_of(const Options& options) {
  return options.device_memory ? parse_bytes(*options.device_memory) : 0;
}

ProducerOptions serving_options(const Options& options, const Dataset& dataset) {
  ProducerOptions serving = producer_options(dataset.maker(), options.stream);
  serving.memory = parse_bytes(options.memory);
  serving.places = places_of(options);
  serving.device_memory = device_memory_of(options);
  serving.host_fields = options.host_fields;
  serving.device_stage = dataset.device_stage();
  serving.epochs = options.epochs;
  serving.wait_for = options.wait_for;
  serving.max_consumers = options.max_consumers;
  serving.free_running = options.free_running;
  serving.stall_timeout_ms = static_cast<std::uint64_t>(milliseconds(options.stall_timeout_s));
  serving.on_stall = options.on_stall == "evict" ? OnStall::evict : OnStall::report;
  serving.huge_pages = huge_pages_of(options.huge_pages);
  serving.allow_uids = options.allow_uids;
  serving.log = console_log(options.verbose);
  return serving;
}

// Of the producer, its ZeroMQ and its feeder.
constexpr unsigned threads_besides_workers = 6;
constexpr std::uint64_t address_space_besides = 32 << 20;  // beside the ring, which is mapped twice

[[noreturn]] void end_at_once(Exit code) {
  const int ended = finish_output(code);
  std::fflush(nullptr);
  std::_Exit(ended);
}

void print_report(const Options& options, const ProducerStats& stats, const Dataset& dataset,
                  double seconds, bool drained) {
  if (options.json) {
    print_json({{"stream", options.stream},
                {"state", stats.state},
                {"published", stats.published},
                {"seconds", seconds},
                {"space_wait_seconds", stats.space_wait_seconds},
                {"late_wakeups", stats.late_wakeups},
                {"bad_samples", dataset.bad_samples()},
                {"drained", drained}});
    return;
  }
  fmt::print("stream `{}` {}: {} samples in {:.1f} s, waited {:.1f} s for space", options.stream,
             stats.state, count_text(stats.published), seconds, stats.space_wait_seconds);
  if (dataset.bad_samples() != 0) fmt::print(", {} bad samples", dataset.bad_samples());
  fmt::print("\n");
}

void say_what_is_served(const Producer& producer, const Dataset& dataset) {
  constexpr std::uint64_t usual_batch = 256;
  const Placement host;
  const std::vector<RingInfo> rings = producer.stats().rings;
  for (const RingInfo& ring : rings) {
    if (ring.capacity >= usual_batch) continue;
    const bool on_host = ring.placement == host.text();
    say(fmt::format("batches of more than {} samples will not fit{}: more --{}memory\n",
                    count_text(ring.capacity), on_host ? "" : " on " + ring.placement,
                    on_host ? "" : "device-"));
  }
  std::string text = fmt::format(
      "serving stream `{}` in {}: {} samples an epoch, ring of {} samples, {}", producer.stream(),
      producer.directory(), count_text(dataset.maker().samples_per_epoch()),
      count_text(producer.capacity()), bytes_text(producer.memory()));
  for (const RingInfo& ring : rings) {
    if (ring.placement == host.text()) continue;
    text += fmt::format("; on {} of {} samples, {}", ring.placement, count_text(ring.capacity),
                        bytes_text(ring.memory));
  }
  say(text + "\n");
}

/// Returns whether it was stopped, by a signal or a command.
bool serve_dataset(const Options& options, Interrupts& interrupts, const Dataset& dataset) {
  // Nothing is served that would have to be given up at once for want of threads.
  rehearse_threads(std::max(1U, options.workers.count()) + threads_besides_workers,
                   2 * parse_bytes(options.memory) + address_space_besides, "`batchcast serve`");
  Producer producer(serving_options(options, dataset));
  say_what_is_served(producer, dataset);
  const std::uint64_t started_ns = now_ns();
  const auto seconds = [&] { return seconds_from_ns(now_ns() - started_ns); };
  bool drained = false;
  {
    Service service({interrupts, producer, dataset, options.idle_exit_s});
    if (!service.produce({.workers = options.workers.count()})) {
      print_report(options, producer.stats(), dataset, seconds(), false);
      remove_stream_files(producer, service.failed());
      end_at_once(service.failed() ? exit_environment : exit_ok);
    }
    drained = service.linger(options.linger_s);
  }
  const ProducerStats stats = producer.stats();
  producer.stop("its producer ended");  // so that taking it down does not wait again
  print_report(options, stats, dataset, seconds(), drained);
  return interrupts.wait(0) != 0 || stats.state == "stopped";
}

int run(const Options& options) {
  Interrupts interrupts;
  // Whoever read the output may be gone: others use the stream.
  std::signal(SIGPIPE, SIG_IGN);
  // Opening a dataset may take long: first what can be refused without it.
  static_cast<void>(options.workers.count());
  static_cast<void>(parse_bytes(options.memory));
  static_cast<void>(places_of(options));
  static_cast<void>(device_memory_of(options));
  std::optional<Dataset> dataset;
  {
    const EndsAtOnce opening(interrupts, exit_ok);
    dataset.emplace(dataset_options(options), console_log(options.verbose));
  }
  // Whoever reads ahead may sit in a slow file, and would be waited for.
  if (serve_dataset(options, interrupts, *dataset)) end_at_once(exit_ok);
  return exit_ok;
}

void add_what(CLI::App& serve, Options& options) {
  add_dataset_options(serve, options.dataset);
  serve.add_option("--stream", options.stream, "Name of the stream")->required();
  serve.add_option("--memory", options.memory, "Bytes for samples, at most: 256MiB, 1GiB …")
      ->capture_default_str();
  serve.add_option("--epochs", options.epochs, "How many; 0: until it is stopped")
      ->capture_default_str()
      ->check(at_least(0));
}

void add_gpus(CLI::App& serve, Options& options) {
  CLI::Option* place =
      serve
          .add_option("--place", options.places,
                      "GPUs to serve it on as well, each with a ring that all trainers there read: "
                      "cuda:0,cuda:1")
          ->delimiter(',')
          ->allow_extra_args(false);
  serve
      .add_option("--device-memory", options.device_memory,
                  "Bytes for samples on each of these GPUs, at most; by default as many as in host "
                  "memory")
      ->needs(place);
  serve
      .add_option("--host-field", options.host_fields,
                  "Fields that stay in host memory for trainers on GPUs too, as sample_id does")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->needs(place);
  serve
      .add_flag("--finish-on-gpu", options.dataset.finish_on_gpu,
                "Leave the end of each image (horizontal_flip, to, normalize) to these GPUs: u8 "
                "pixels go there, and in host memory remain u8")
      ->needs(place);
}

void add_how(CLI::App& serve, Options& options) {
  serve.add_option("--wait-for", options.wait_for, "Begin when so many consumers are attached")
      ->capture_default_str()
      ->check(at_least(0));
  add_workers_option(serve, options.workers);
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
      ->capture_default_str()
      ->check(seconds_or_forever());
  serve
      .add_option(
          "--idle-exit", options.idle_exit_s,
          "End when no consumer has been attached for so many seconds (who only looks, such "
          "as `peek`, is none)")
      ->check(above_zero());
  serve.add_option("--huge-pages", options.huge_pages, "auto: above 4 GiB, where there are any")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "off", "transparent", "explicit"}));
  serve
      .add_option("--allow-uid", options.allow_uids,
                  "Another user who may attach (a root container, user trainers)")
      ->allow_extra_args(false);
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
      "Example: a stream of ImageNet, of which two trainers get every sample.\n"
      "  batchcast serve imagefolder:/data/imagenet/train --recipe imagenet-train \\\n"
      "    --stream imagenet --memory 1GiB --wait-for 2 &\n"
      "  batchcast consume imagenet --batch-size 256 & batchcast consume imagenet --batch-size 37");
  add_what(*serve, *options);
  add_gpus(*serve, *options);
  add_how(*serve, *options);
  serve->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace batchcast::cli
