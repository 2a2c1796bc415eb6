// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/serve/serve_options.hpp"

#include "cli/console.hpp"

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
      .add_option("--linger", options.linger_s,
                  "Seconds to stay after the last epoch for consumers that still read; -1: as long "
                  "as they do")
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

}  // namespace batchcast::cli
