// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/cache_json.hpp"
#include "cli/command.hpp"
#include "cli/interrupts.hpp"
#include "cli/option_table.hpp"
#include "cli/output.hpp"
#include "cli/serve/keeper.hpp"
#include "cli/serve/own_words.hpp"
#include "cli/serve/python.hpp"
#include "cli/serve/replaced.hpp"
#include "cli/serve/tokenized.hpp"
#include "producer/left_grid.hpp"
#include "serving/cache_report.hpp"
#include "serving/serve_table.hpp"
#include "serving/service.hpp"
#include "serving/token_report.hpp"

#include <batchcast/batchcast.hpp>
#include <batchcast/core/clock.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/named_thread.hpp>
#include <batchcast/core/text.hpp>
#include <batchcast/feeder.hpp>
#include <batchcast/join/absent_stream.hpp>

#include "data/source/read_by_python.hpp"
#include "start/given_up.hpp"
#include "stream/stream_directory.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

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
  const std::optional<TokenAccount> tokens = dataset.token_account();
  if (options.json) {
    nlohmann::json report = {{"stream", options.producer.stream},
                             {"state", name_of(stats.state)},
                             {"published", stats.published},
                             {"samples", stats.samples},
                             {"unread", stats.unread},
                             {"seconds", seconds},
                             {"space_wait_seconds", stats.space_wait_seconds},
                             {"late_wakeups", stats.late_wakeups},
                             {"bad_samples", dataset.bad_samples()},
                             {"stand_ins", dataset.stand_ins().samples},
                             {"stand_in_times", dataset.stand_ins().times},
                             {"cache", json_of(dataset.cache_stats())},
                             {"drained", drained}};
    if (tokens) {
      report["tokens"] = serving::json_of(dataset.made_tokens());
      report["tokens"]["epoch"] = serving::json_of(*tokens);
    }
    print_json(report);
    return;
  }
  fmt::print("stream `{}` {}: {} in {:.1f} s, waited {:.1f} s for space", options.producer.stream,
             name_of(stats.state), counted(stats.samples, "sample"), seconds,
             stats.space_wait_seconds);
  const bool is_cut_short =
      stats.state == StreamState::stopped || stats.state == StreamState::failed;
  if (!is_cut_short && stats.unread != 0) {
    fmt::print(", the last {} read by no consumer", count_text(stats.unread));
  }
  const std::string bad = serving::bad_samples_text(dataset.bad_samples(), dataset.stand_ins());
  fmt::print("{}{}\n", bad.empty() ? "" : ", ", bad);
  if (tokens) {
    fmt::print("{}\nmade {}\n", serving::account_text(*tokens),
               serving::tokens_text(dataset.made_tokens()));
  }
  if (const std::string cache = serving::cache_report(dataset.cache_stats()); !cache.empty()) {
    fmt::print("{}\n", cache);
  }
}

StreamPaths paths_of(const ProducerOptions& options) {
  check_stream_name(options.stream);
  StreamDirectory::Options directory;
  directory.stream = options.stream;
  directory.base = options.directory;
  directory.allow_uids = options.allow_uids;
  return StreamDirectory::paths_of(directory);
}

/// With which this process may be started again.
std::vector<std::string> words_to_start_again() {
  std::error_code error;
  const std::string program = std::filesystem::read_symlink("/proc/self/exe", error).string();
  std::vector<std::string> words = without_flag(own_words(), replace_flag);
  if (error || words.empty()) return {};
  words.front() = program;
  return words;
}

enum class Ended { whole, stopped, failed };

/// Nothing where the stream is to be laid out as `wish` says.
std::optional<Ended> serve_once(const Options& options, Interrupts& interrupts,
                                const Dataset& dataset, serving::GridWish& wish) {
  ProducerOptions asked = serving_options(options, dataset);
  asked.started_with = words_to_start_again();
  asked.want_grid = [&wish](const Grid& grid) { wish.ask(grid); };
  rehearse_serving(options, asked, dataset);
  if (options.replace) {
    const StreamPaths paths = paths_of(asked);
    const bool can_ride = asked.pure && asked.samples_per_epoch != 0;
    check_replacement(asked.stream, paths, can_ride ? asked.identity : std::string());
    replace_producer(asked.stream, paths);
  }
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
    serving::Service service({asked_to_end, producer, dataset, options.producer.wait_for,
                              options.idle_exit_s, true, &wish});
    bool produced = false;
    try {
      produced = service.produce(serving::feeding_options(options));
    } catch (const Error& error) {
      // Without a feeder it is this process that lacks something.
      if (!service.has_feeder() || producer.stats().state != StreamState::failed) throw;
      say(text("{}\n", error.what()));
      return Ended::failed;
    }
    if (!produced) {
      const Feeder* const feeder = service.take_feeder().release();  // it would wait
      const std::string failure = feeder->failure_text();
      if (!failure.empty()) say(failure + "\n");
      say("not waiting for a worker that is still at a sample\n");
      print_report(options, producer.stats(), dataset, seconds(), false);
      producer.give_up_name("its producer ended");
      end_at_once(failure.empty() ? exit_ok : exit_stream_ended);
    }
    drained = service.linger(options.linger_s);
    if (service.made_way() && interrupts.wait(0) == 0) return std::nullopt;
  }
  const ProducerStats stats = producer.stats();
  producer.stop("its producer ended");  // so that taking it down does not wait again
  print_report(options, stats, dataset, seconds(), drained);
  if (stats.state == StreamState::failed) return Ended::failed;
  return interrupts.wait(0) != 0 || stats.state == StreamState::stopped ? Ended::stopped
                                                                        : Ended::whole;
}

Ended serve_dataset(Options options, Interrupts& interrupts, Dataset& dataset) {
  if (dataset.grid()) {
    dataset.lay_out(detail::grid_to_begin_with(options.producer, *dataset.grid()));
  }
  serving::GridWish wish;
  for (;;) {
    if (const auto ended = serve_once(options, interrupts, dataset, wish)) return *ended;
    dataset.lay_out(wish.take().value());
    options.replace = false;  // the name was this process's
  }
}

/// A worker of a keeper that cannot start is not started again: trainers that wait hear why.
void tell_waiting_trainers(const ProducerOptions& options, const std::string& why) noexcept {
  try {
    const std::string base =
        std::filesystem::path(paths_of(options).directory).parent_path().string();
    const std::vector<std::string> bases{base};
    if (std::getenv(detail::deaths_variable) == nullptr ||  // started by hand
        !has_keeper(options.stream, bases) ||
        !detail::life_waited_for(paths_of(options).directory)) {
      return;
    }
    detail::give_up_stream(options.stream, base,
                           text("its producer could not be started again: {}", why));
  } catch (const std::exception&) {
    // They wait until their time is up.
  }
}

/// The segments of a cache are cut and get their index. A thread that reads ahead may sit in a slow
/// file, and is not waited for. So the process has to end after it.
void close_in_time(std::optional<Dataset>& dataset) {
  constexpr std::chrono::milliseconds patience(500);
  const auto closed = std::make_shared<std::promise<void>>();  // the thread may be there longer
  try {
    start_thread("bc-close", [&dataset, closed] {
      dataset.reset();
      closed->set_value();
    }).detach();
  } catch (const SystemError&) {
    return;  // who opens the directory next cuts them
  }
  closed->get_future().wait_for(patience);
}

int open_and_serve(Options& options, Interrupts& interrupts) {
  std::optional<Dataset> dataset;
  {
    const EndsAtOnce opening(interrupts, [](int) { return exit_ok; });
    dataset.emplace(served_dataset(options), console_log(options.verbose));
  }
  const Ended ended = serve_dataset(options, interrupts, *dataset);
  if (ended == Ended::stopped) {
    close_in_time(dataset);
    end_at_once(exit_ok);
  }
  return ended == Ended::failed ? exit_stream_ended : exit_ok;
}

int run(Options options, const CLI::App& serve) {
  if (options.log_format == "json") serving::log_as_json();
  if (options.keep_alive) {
    const StreamPaths paths = paths_of(options.producer);
    const std::string base = std::filesystem::path(paths.directory).parent_path().string();
    return keep_alive(options.producer.stream, base, options.give_up_after, options.replace);
  }
  Interrupts interrupts;
  if (takes_tokenizer(options.dataset)) {
    const EndsAtOnce tokenising(interrupts, [](int) { return exit_ok; });
    options.dataset.source = tokenized_source(options.dataset);
  }
  if (detail::is_read_by_python(options.dataset.source)) {
    serve_with_python(options, serve, interrupts);
  }
  // The reader of the output may be gone: others use the stream.
  std::signal(SIGPIPE, SIG_IGN);
  if (!options.json) take_output_for_a_log();
  try {
    return open_and_serve(options, interrupts);
  } catch (const std::exception& error) {
    tell_waiting_trainers(options.producer, error.what());
    throw;
  }
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
      "With --tokenizer texts become a corpus first, as `batchcast tokenize` makes it.\n"
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
