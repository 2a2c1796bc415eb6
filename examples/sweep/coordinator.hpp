// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "child.hpp"
#include "interrupt.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "report.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace sweep {

/// `batchcast serve` of one of the two streams.
struct Server {
  std::string stream;
  Child process;
  std::string last_line = {};
};

/// A trainer, and what is known of it.
struct Trained {
  TrainerSetting setting;
  Child process;
  TrainerReport report = {};
  std::string last_line = {};  ///< of what it said that is no report
};

struct SweepResult {
  std::vector<Trained> trainers;
  double seconds = 0;
  double train_server_cpu_seconds = 0;
  double test_server_cpu_seconds = 0;
  /// What separate loaders of all trainers made side by side, together; empty if that was not asked
  /// for.
  LoaderReport separate = {};
  std::vector<std::string> failures = {};
};

/// Starts everything, shows how far it is, and collects the results. No process that it started is
/// left when it is gone.
class Coordinator {
 public:
  explicit Coordinator(SweepOptions options)
      : options_(std::move(options)), progress_(options_.report_seconds) {}

  [[nodiscard]] SweepResult run() {
    const auto began = Clock::now();
    start();
    while (!settled()) {
      listen();
      progress_.show(lines());
    }
    progress_.show(lines(), true);
    SweepResult result;
    result.seconds = seconds_since(began);
    end_servers(result);
    for (Trained& trainer : trainers_) judge(trainer, result);
    result.trainers = std::move(trainers_);
    if (options_.separate_seconds > 0) result.separate = measure_separate_loaders();
    return result;
  }

 private:
  using Clock = std::chrono::steady_clock;

  static double seconds_since(Clock::time_point then) {
    return std::chrono::duration<double>(Clock::now() - then).count();
  }

  void start() {
    const std::string name = "sweep-" + std::to_string(::getpid());
    const std::string images = "idx:" + options_.dataset;
    const std::string seed = std::to_string(options_.seed);
    const auto serve = [&](const std::string& stream, const std::string& source,
                           const std::string& recipe, std::vector<std::string> more) {
      std::vector<std::string> command = {options_.command, "serve",    source, "--recipe",
                                          recipe,           "--stream", stream, "--memory",
                                          options_.memory,  "--seed",   seed};
      command.insert(command.end(), more.begin(), more.end());
      servers_.push_back({stream, Child(command)});
    };
    // The first epoch begins when all trainers are there: the data is made for all of them once.
    serve(name + "-train", images, options_.recipe,
          {"--epochs", std::to_string(options_.epochs), "--wait-for",
           std::to_string(options_.trainers.size())});
    serve(name + "-test", images + "?split=test", "mnist", {});
    for (const TrainerSetting& setting : options_.trainers) {
      trainers_.push_back({setting, Child({options_.program, "trainer", setting.name(),
                                           servers_[0].stream, servers_[1].stream,        //
                                           "--lr", text_of("%g", setting.learning_rate),  //
                                           "--batch-size", std::to_string(setting.batch_size),
                                           "--epochs", std::to_string(options_.epochs),    //
                                           "--threads", std::to_string(options_.threads),  //
                                           "--seed", seed})});
      progress_.say(text_of("%-13s is process %d", setting.name().c_str(),
                            static_cast<int>(trainers_.back().process.pid())));
    }
  }

  /// Waits for output of a child, at most a fifth of a second, and takes it in.
  void listen() {
    wait_for_output();
    for (Server& server : servers_) {
      for (std::string& line : server.process.lines()) server.last_line = std::move(line);
    }
    for (Trained& trainer : trainers_) {
      for (std::string& line : trainer.process.lines()) {
        if (const auto report = trainer_report(line)) {
          trainer.report = *report;
        } else if (!line.empty()) {
          progress_.say(trainer.setting.name() + ": " + line);
          trainer.last_line = std::move(line);
        }
      }
    }
  }

  void wait_for_output() {
    std::vector<pollfd> watched;
    const auto watch = [&](const Child& child) {
      if (child.output() >= 0) watched.push_back({child.output(), POLLIN, 0});
    };
    for (const Server& server : servers_) watch(server.process);
    for (const Trained& trainer : trainers_) watch(trainer.process);
    ::poll(watched.data(), watched.size(), 200);
    throw_if_interrupted();
  }

  /// Whether every trainer has ended. Before they have all begun, none may: the others would wait
  /// for it, or for the stream, for ever.
  bool settled() {
    const bool begun = std::any_of(trainers_.begin(), trainers_.end(),
                                   [](const Trained& it) { return it.report.samples > 0; });
    bool all = true;
    for (Trained& trainer : trainers_) {
      const bool ended = trainer.process.ended() && trainer.process.output() < 0;
      if (ended && !begun) fail(trainer.setting.name(), trainer.process, trainer.last_line);
      all &= ended;
    }
    for (Server& server : servers_) {
      if (!begun && server.process.ended()) {
        listen();
        fail("the producer of " + server.stream, server.process, server.last_line);
      }
    }
    return all;
  }

  [[noreturn]] static void fail(const std::string& who, const Child& child,
                                const std::string& last_line) {
    throw std::runtime_error(who + " " + child.how() + ": " + last_line);
  }

  [[nodiscard]] std::vector<std::string> lines() {
    std::vector<std::string> lines;
    for (Trained& trainer : trainers_) {
      lines.push_back(text_of("%-13s ", trainer.setting.name().c_str()) + state_of(trainer));
    }
    return lines;
  }

  [[nodiscard]] static std::string state_of(Trained& trainer) {
    const TrainerReport& report = trainer.report;
    if (trainer.process.ended() && !trainer.process.well()) return trainer.process.how();
    if (report.samples == 0) return "no batch yet";
    const double share =
        static_cast<double>(report.samples) / static_cast<double>(report.samples_total);
    const std::string tested =
        report.epochs == 0 ? "        " : text_of("%.1f%% right", 100 * report.accuracy);
    return text_of("%3.0f%% %s  loss %.3f  %-11s  %7s samples/s", 100 * share,
                   bar(share, 14).c_str(), report.loss, tested.c_str(),
                   count_text(report.samples_per_second()).c_str());
  }

  /// The train stream ends by itself; the test stream has no end.
  void end_servers(SweepResult& result) {
    for (int i = 0; i < 25 && !servers_[0].process.ended(); ++i) listen();
    for (Server& server : servers_) {
      const bool by_itself = server.process.ended();
      server.process.stop();
      if (server.process.well()) continue;
      result.failures.push_back("the producer of " + server.stream + " " + server.process.how() +
                                (by_itself ? ": " + server.last_line : ""));
    }
    result.train_server_cpu_seconds = servers_[0].process.cpu_seconds();
    result.test_server_cpu_seconds = servers_[1].process.cpu_seconds();
  }

  void judge(const Trained& trainer, SweepResult& result) const {
    const std::string name = trainer.setting.name();
    if (!trainer.process.well()) {
      result.failures.push_back(name + " " + trainer.process.how() + " " + trainer.last_line);
    } else if (trainer.report.receipts != options_.epochs) {
      result.failures.push_back(text_of("%s has %lu receipts that match, of %lu", name.c_str(),
                                        trainer.report.receipts, options_.epochs));
    }
  }

  /// Starts one process with a separate loader for each trainer, all at the same time.
  LoaderReport measure_separate_loaders() {
    std::vector<Child> loaders;
    progress_.say(
        text_of("\n%zu torch::data loaders that do the same work for themselves, %g s ...",
                options_.trainers.size(), options_.separate_seconds));
    for (const TrainerSetting& setting : options_.trainers) {
      loaders.push_back(Child({options_.program, "loader", "idx:" + options_.dataset,
                               "--batch-size", std::to_string(setting.batch_size), "--seconds",
                               text_of("%g", options_.separate_seconds)}));
    }
    LoaderReport all;
    for (Child& loader : loaders) {
      std::string last_line;
      while (loader.output() >= 0) {
        pollfd watched{loader.output(), POLLIN, 0};
        ::poll(&watched, 1, 200);
        throw_if_interrupted();
        for (const std::string& line : loader.lines()) {
          last_line = line;
          const auto report = loader_report(line);
          if (!report) continue;
          all.samples += report->samples;
          all.cpu_seconds += report->cpu_seconds;
        }
      }
      while (!loader.ended()) ::poll(nullptr, 0, 10);
      if (!loader.well()) fail("a torch::data loader", loader, last_line);
    }
    return all;
  }

  SweepOptions options_;
  Progress progress_;
  std::vector<Server> servers_;
  std::vector<Trained> trainers_;
};

}  // namespace sweep
