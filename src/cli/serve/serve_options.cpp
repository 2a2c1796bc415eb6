// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/serve/serve_options.hpp"

#include "cli/console.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/named_thread.hpp>
#include <batchcast/feeder.hpp>
#include <batchcast/ring/memory.hpp>
#include "ring/ring_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace batchcast::cli {
namespace {

void add_what(CLI::App& serve, ServeOptions& options) {
  add_dataset_options(serve, options.dataset);
  serve.add_option("--memory", options.memory, "Bytes for samples, at most: 256MiB, 1GiB …")
      ->capture_default_str();
  serve.add_option("--epochs", options.epochs, "How many; 0: until it is stopped")
      ->capture_default_str()
      ->check(at_least(0));
  serve
      .add_option(
          "--ahead", options.ahead,
          "Epochs to make beyond the foremost consumer or, while none is attached, beyond where "
          "the next one would begin; 0: as many as fit into the memory, never more")
      ->capture_default_str()
      ->check(at_least(0));
}

void add_gpus(CLI::App& serve, ServeOptions& options) {
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

void add_how(CLI::App& serve, ServeOptions& options) {
  serve
      .add_option("--wait-for", options.wait_for,
                  "Begin when so many consumers are attached; the ranks of a group are one")
      ->capture_default_str()
      ->check(at_least(0));
  add_workers_option(serve, options.workers);
  serve.add_option("--max-consumers", options.max_consumers, "Places for consumers")
      ->capture_default_str()
      ->check(CLI::Range(std::uint32_t{1}, static_cast<std::uint32_t>(limits::consumers_max)));
  serve
      .add_option("--on-stall", options.on_stall,
                  "What to do about a consumer that keeps the stream waiting: report, evict")
      ->capture_default_str()
      ->check(CLI::IsMember({"report", "evict"}));
  serve.add_option("--stall-timeout", options.stall_timeout_s, "After so many seconds of it")
      ->capture_default_str()
      ->check(above_zero());
  serve
      .add_option(
          "--linger", options.linger_s,
          "Seconds to stay after the last epoch for consumers that still read, counted once "
          "those of --wait-for are there; -1: as long as they do")
      ->capture_default_str()
      ->check(seconds_or_forever());
  serve
      .add_option(
          "--idle-exit", options.idle_exit_s,
          "End when no consumer has been attached for so many seconds (an observer such as `peek` "
          "does not count)")
      ->check(above_zero());
  serve.add_option("--huge-pages", options.huge_pages, "auto: above 4 GiB, where there are any")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "off", "transparent", "explicit"}));
  serve
      .add_option("--allow-uid", options.allow_uids,
                  "Another user who may attach, where producer and trainers run as different users")
      ->allow_extra_args(false);
  serve.add_flag("--free-running", options.free_running,
                 "Produce also while no consumer in lockstep is attached");
  serve.add_flag("--json", options.json, "Print one JSON object at the end");
  serve.add_flag("--verbose,-v", options.verbose, "Report more");
}

HugePages huge_pages_of(const std::string& name) {
  if (name == "off") return HugePages::off;
  if (name == "transparent") return HugePages::transparent;
  return name == "explicit" ? HugePages::explicit_pages : HugePages::automatic;
}

// Of the producer, its ZeroMQ and its feeder, and the one that fills in the ring's pages meanwhile.
constexpr unsigned threads_besides_workers = 7;
constexpr std::uint64_t address_space_besides = 32 << 20;  // beside the ring

}  // namespace

void add_serve_options(CLI::App& command, ServeOptions& options) {
  add_what(command, options);
  add_gpus(command, options);
  add_how(command, options);
}

void check_serve_options(const ServeOptions& options) {
  static_cast<void>(options.workers.count());
  static_cast<void>(parse_bytes(options.memory));
  static_cast<void>(places_of(options));
  static_cast<void>(device_memory_of(options));
}

std::vector<Placement> places_of(const ServeOptions& options) {
  return {options.places.begin(), options.places.end()};
}

std::uint64_t device_memory_of(const ServeOptions& options) {
  return options.device_memory ? parse_bytes(*options.device_memory) : 0;
}

DatasetOptions served_dataset(const ServeOptions& options) {
  DatasetOptions dataset = options.dataset;
  if (options.epochs != 0) dataset.epochs = options.epochs;
  return dataset;
}

ProducerOptions stream_options(const ServeOptions& options) {
  ProducerOptions serving;
  serving.stream = options.stream;
  serving.memory = parse_bytes(options.memory);
  serving.places = places_of(options);
  serving.device_memory = device_memory_of(options);
  serving.host_fields = options.host_fields;
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

ProducerOptions serving_options(const ServeOptions& options, const Dataset& dataset) {
  ProducerOptions serving = stream_options(options);
  const ProducerOptions made = producer_options(dataset.maker(), options.stream);
  serving.schema = made.schema;
  serving.samples_per_epoch = made.samples_per_epoch;
  serving.recipe_json = made.recipe_json;
  serving.identity = made.identity;
  serving.pure = made.pure;
  serving.device_stage = dataset.device_stage();
  serving.epochs = options.epochs;
  return serving;
}

void rehearse_serving(const ServeOptions& options, const ProducerOptions& serving) {
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

void say_what_is_served(const Producer& producer) {
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
  const std::string epoch_text =
      producer.samples_per_epoch() == 0
          ? "epochs of any length"
          : counted(producer.samples_per_epoch(), "sample") + " an epoch";
  std::string text = fmt::format(
      "serving stream `{}` in {}: {}, ring of {}, {}", producer.stream(), producer.directory(),
      epoch_text, counted(producer.capacity(), "sample"), bytes_text(producer.memory()));
  for (const RingInfo& ring : rings) {
    if (ring.placement == host.text()) continue;
    text += fmt::format("; on {} of {}, {}", ring.placement, counted(ring.capacity, "sample"),
                        bytes_text(ring.memory));
  }
  say(text + "\n");
}

}  // namespace batchcast::cli
