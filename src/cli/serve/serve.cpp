// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/command.hpp"
#include "cli/interrupts.hpp"
#include "cli/option_table.hpp"
#include "cli/output.hpp"
#include "cli/serve/python.hpp"
#include "serving/serve_table.hpp"
#include "serving/service.hpp"

#include <batchcast/batchcast.hpp>
#include <batchcast/core/clock.hpp>
#include <batchcast/core/text.hpp>
#include <batchcast/feeder.hpp>

#include "data/source/read_by_python.hpp"

#include <fmt/format.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

namespace batchcast::cli {
namespace {

using serving::Dataset;
using Options = serving::ServeOptions;

[[noreturn]] void end_at_once(Exit code) {
  const int ended = finish_output(code);
  std::fflush(nullptr);
  std::_Exit(ended);
}

void print_report(const Options& options, const ProducerStats& stats, const Dataset& dataset,
                  double seconds, bool drained) {
  if (options.json) {
    print_json({{"stream", options.producer.stream},
                {"state", name_of(stats.state)},
                {"published", stats.published},
                {"unread", stats.unread},
                {"seconds", seconds},
                {"space_wait_seconds", stats.space_wait_seconds},
                {"late_wakeups", stats.late_wakeups},
                {"bad_samples", dataset.bad_samples()},
                {"drained", drained}});
    return;
  }
  fmt::print("stream `{}` {}: {} in {:.1f} s, waited {:.1f} s for space", options.producer.stream,
             name_of(stats.state), counted(stats.published, "sample"), seconds,
             stats.space_wait_seconds);
  const bool is_cut_short =
      stats.state == StreamState::stopped || stats.state == StreamState::failed;
  if (!is_cut_short && stats.unread != 0) {
    fmt::print(", the last {} read by no consumer", count_text(stats.unread));
  }
  if (dataset.bad_samples() != 0) fmt::print(", {}", counted(dataset.bad_samples(), "bad sample"));
  fmt::print("\n");
}

/// Returns whether it was stopped, by a signal or a command.
bool serve_dataset(const Options& options, Interrupts& interrupts, const Dataset& dataset) {
  ProducerOptions asked = serving_options(options, dataset);
  rehearse_serving(options, asked);
  const UnwaitedStderr unwaited;
  Producer producer(std::move(asked));
  serving::say_what_is_served(producer);
  const std::uint64_t started_ns = now_ns();
  const auto seconds = [&] { return seconds_from_ns(now_ns() - started_ns); };
  bool drained = false;
  {
    const auto asked_to_end = [&](int timeout_ms) {
      const int signal = interrupts.wait(timeout_ms);
      return signal == 0 ? "" : text("its producer got SIG{}", ::sigabbrev_np(signal));
    };
    serving::Service service(
        {asked_to_end, producer, dataset, options.producer.wait_for, options.idle_exit_s});
    if (!service.produce({.workers = options.workers.value_or(0)})) {
      const Feeder* const feeder = service.take_feeder().release();  // it would wait
      const std::string failure = feeder->failure_text();
      if (!failure.empty()) say(failure + "\n");
      say("not waiting for a worker that is still at a sample\n");
      print_report(options, producer.stats(), dataset, seconds(), false);
      producer.give_up_name("its producer ended");
      end_at_once(failure.empty() ? exit_ok : exit_environment);
    }
    drained = service.linger(options.linger_s);
  }
  const ProducerStats stats = producer.stats();
  producer.stop("its producer ended");  // so that taking it down does not wait again
  print_report(options, stats, dataset, seconds(), drained);
  return interrupts.wait(0) != 0 || stats.state == StreamState::stopped;
}

int run(const Options& options, const CLI::App& serve) {
  Interrupts interrupts;
  if (detail::is_read_by_python(options.dataset.source)) {
    serve_with_python(options, serve, interrupts);
  }
  // The reader of the output may be gone: others use the stream.
  std::signal(SIGPIPE, SIG_IGN);
  if (!options.json) take_output_for_a_log();
  std::optional<Dataset> dataset;
  {
    const EndsAtOnce opening(interrupts, [](int) { return exit_ok; });
    dataset.emplace(served_dataset(options), console_log(options.verbose));
  }
  // A thread that reads ahead may sit in a slow file, and would be waited for.
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
      "  batchcast consume imagenet --batch-size 37\n"
      "\n"
      "Ctrl-C, SIGTERM and `batchcast stop` end it: exit code 0.\n"
      "\n"
      "Python reads `python:MODULE:FACTORY` (a function that returns a dataset or a\n"
      "loader), `huggingface:DIR?split=train` and `parquet:FILES`: the command becomes\n"
      "`python3 -m batchcast serve`, with the Python of $BATCHCAST_PYTHON, else of\n"
      "$VIRTUAL_ENV, else of the PATH.");
  add_options(*serve, serving::serve_options(), *options, {"source"});
  serve->callback(
      [options, serve, &chosen] { chosen = [options, serve] { return run(*options, *serve); }; });
}

}  // namespace batchcast::cli
