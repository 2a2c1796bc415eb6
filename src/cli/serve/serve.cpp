// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/interrupts.hpp"
#include "cli/serve/serve_options.hpp"
#include "cli/serve/service.hpp"

#include <batchcast/batchcast.hpp>
#include <batchcast/core/clock.hpp>
#include <batchcast/feeder.hpp>

#include <batchcast/core/named_thread.hpp>
#include <batchcast/ring/capacity.hpp>
#include <batchcast/ring/memory.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <optional>

namespace batchcast::cli {
namespace {

using Options = ServeOptions;

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

ProducerOptions serving_options(const Options& options, const Dataset& dataset) {
  ProducerOptions serving = producer_options(dataset.maker(), options.stream);
  serving.memory = parse_bytes(options.memory);
  serving.places = places_of(options);
  serving.device_memory = device_memory_of(options);
  serving.host_fields = options.host_fields;
  serving.device_stage = dataset.device_stage();
  serving.epochs = options.epochs;
  serving.ahead = options.ahead;
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
constexpr std::uint64_t address_space_besides = 32 << 20;  // beside the ring

[[noreturn]] void end_at_once(Exit code) {
  const int ended = finish_output(code);
  std::fflush(nullptr);
  std::_Exit(ended);
}

void print_report(const Options& options, const ProducerStats& stats, const Dataset& dataset,
                  double seconds, bool drained) {
  if (options.json) {
    print_json({{"stream", options.stream},
                {"state", name_of(stats.state)},
                {"published", stats.published},
                {"seconds", seconds},
                {"space_wait_seconds", stats.space_wait_seconds},
                {"late_wakeups", stats.late_wakeups},
                {"bad_samples", dataset.bad_samples()},
                {"drained", drained}});
    return;
  }
  fmt::print("stream `{}` {}: {} in {:.1f} s, waited {:.1f} s for space", options.stream,
             name_of(stats.state), counted(stats.published, "sample"), seconds,
             stats.space_wait_seconds);
  if (dataset.bad_samples() != 0) fmt::print(", {}", counted(dataset.bad_samples(), "bad sample"));
  fmt::print("\n");
}

void say_what_is_served(const Producer& producer, const Dataset& dataset) {
  constexpr std::uint64_t usual_batch = 256;
  const Placement host;
  const std::vector<RingInfo> rings = producer.stats().rings;
  for (const RingInfo& ring : rings) {
    if (ring.capacity >= usual_batch) continue;
    const bool on_host = ring.placement == host.text();
    say(fmt::format("batches of more than {} will not fit{}: more --{}memory\n",
                    counted(ring.capacity, "sample"), on_host ? "" : " on " + ring.placement,
                    on_host ? "" : "device-"));
  }
  std::string text =
      fmt::format("serving stream `{}` in {}: {} an epoch, ring of {}, {}", producer.stream(),
                  producer.directory(), counted(dataset.maker().samples_per_epoch(), "sample"),
                  counted(producer.capacity(), "sample"), bytes_text(producer.memory()));
  for (const RingInfo& ring : rings) {
    if (ring.placement == host.text()) continue;
    text += fmt::format("; on {} of {}, {}", ring.placement, counted(ring.capacity, "sample"),
                        bytes_text(ring.memory));
  }
  say(text + "\n");
}

/// Nothing is served that would have to be given up at once for want of threads or address space.
/// Throws SystemError with what to give less of.
void rehearse(const Options& options, const ProducerOptions& serving) {
  Schema fields = serving.schema;
  fields.push_back({std::string(sample_id_name), DType::u64, {}});
  const std::uint64_t ring_bytes =
      2 * plan_ring(fields, serving.memory, page_bytes()).total_bytes();  // it is mapped twice
  const unsigned threads = std::max(1U, options.workers.count()) + threads_besides_workers;
  const std::string what = "`batchcast serve`";
  try {
    rehearse_threads(threads, ring_bytes + address_space_besides, what);
  } catch (const SystemError& error) {
    rehearse_threads(threads, address_space_besides, what);  // throws where it is not the ring
    throw SystemError(
        "batchcast: the ring of --memory " + options.memory + " takes " + bytes_text(ring_bytes) +
            " of address space, more than this process may have. Give the stream less "
            "(--memory), or the process more (`ulimit -v`)",
        error.code());
  }
}

/// Returns whether it was stopped, by a signal or a command.
bool serve_dataset(const Options& options, Interrupts& interrupts, const Dataset& dataset) {
  ProducerOptions serving = serving_options(options, dataset);
  rehearse(options, serving);
  Producer producer(std::move(serving));
  say_what_is_served(producer, dataset);
  const std::uint64_t started_ns = now_ns();
  const auto seconds = [&] { return seconds_from_ns(now_ns() - started_ns); };
  bool drained = false;
  {
    Service service({interrupts, producer, dataset, options.wait_for, options.idle_exit_s});
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
  return interrupts.wait(0) != 0 || stats.state == StreamState::stopped;
}

int run(const Options& options) {
  Interrupts interrupts;
  // Whoever read the output may be gone: others use the stream.
  std::signal(SIGPIPE, SIG_IGN);
  if (!options.json) take_output_for_a_log();
  check_serve_options(options);
  std::optional<Dataset> dataset;
  {
    const EndsAtOnce opening(interrupts, exit_ok);
    dataset.emplace(dataset_options(options), console_log(options.verbose));
  }
  // Whoever reads ahead may sit in a slow file, and would be waited for.
  if (serve_dataset(options, interrupts, *dataset)) end_at_once(exit_ok);
  return exit_ok;
}

}  // namespace

void add_serve(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<Options>();
  CLI::App* serve = program.add_subcommand("serve", "Serve a dataset as a stream");
  serve->footer(
      "Example: a stream of ImageNet, of which two trainers get every sample.\n"
      "  batchcast serve imagefolder:/data/imagenet/train --recipe imagenet-train \\\n"
      "    --stream imagenet --memory 1GiB --wait-for 2 &\n"
      "  batchcast consume imagenet --batch-size 256 &\n"
      "  batchcast consume imagenet --batch-size 37");
  serve->add_option("--stream", options->stream, "Name of the stream")->required();
  add_serve_options(*serve, *options);
  serve->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace batchcast::cli
