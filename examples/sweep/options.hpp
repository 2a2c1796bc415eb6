// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "arguments.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace sweep {

constexpr const char* sweep_usage =
    "usage: %s DATASET RECIPE [option value]...\n"
    "DATASET  folder of Fashion-MNIST's four files, RECIPE  examples/fashion-train.toml\n"
    "--trainers RATE:BATCH,...  a trainer of each learning rate and batch size\n"
    "                           (0.004:256,0.003:128,0.002:64,0.001:48)\n"
    "--epochs N                 (5)\n"
    "--accuracy SHARE           that the best trainer must reach (0.88)\n"
    "--separate-seconds S       how long to measure loaders of the trainers' own; 0: not (10)\n"
    "--memory SIZE              of each ring (16MiB; an epoch to train on has 180)\n"
    "--threads N                of each trainer (1)\n"
    "--seed N                   (1)\n"
    "--report-seconds S         between lines of progress where stdout is no terminal (10)\n";

struct TrainerSetting {
  double learning_rate = 0;
  std::uint64_t batch_size = 0;

  [[nodiscard]] std::string name() const {
    char text[64];
    std::snprintf(text, sizeof text, "lr%g-b%lu", learning_rate, batch_size);
    return text;
  }
};

struct SweepOptions {
  std::string dataset;
  std::string recipe;
  std::vector<TrainerSetting> trainers;
  std::uint64_t epochs = 0;
  double accuracy_min = 0;
  double separate_seconds = 0;
  std::string memory;
  int threads = 1;
  std::uint64_t seed = 0;
  double report_seconds = 0;
  std::string program;  ///< this one
  std::string command;  ///< `batchcast`
};

/// $BATCHCAST_COMMAND, else `batchcast` where a build leaves it, else the one on the PATH.
[[nodiscard]] inline std::string batchcast_command(const std::filesystem::path& program) {
  if (const char* given = std::getenv("BATCHCAST_COMMAND"); given != nullptr && *given != 0) {
    return given;
  }
  const auto built = program.parent_path().parent_path() / "batchcast";
  return ::access(built.c_str(), X_OK) == 0 ? built.string() : "batchcast";
}

/// `RATE:BATCH,...`
[[nodiscard]] inline std::vector<TrainerSetting> trainers_of(const std::string& list) {
  std::vector<TrainerSetting> trainers;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    const std::string one = list.substr(at, end - at);
    const std::size_t colon = one.find(':');
    if (colon == std::string::npos) throw UsageError("--trainers: `" + one + "` has no `:`");
    trainers.push_back({Arguments::parse<double>("--trainers", one.substr(0, colon)),
                        Arguments::parse<std::uint64_t>("--trainers", one.substr(colon + 1))});
    if (trainers.back().batch_size == 0) throw UsageError("--trainers: `" + one + "` has no batch");
    at = end + 1;
  }
  return trainers;
}

[[nodiscard]] inline SweepOptions sweep_options(Arguments arguments) {
  SweepOptions options;
  options.dataset = arguments.word("DATASET");
  options.recipe = arguments.word("RECIPE");
  options.trainers =
      trainers_of(arguments.text("trainers", "0.004:256,0.003:128,0.002:64,0.001:48"));
  options.epochs = arguments.number<std::uint64_t>("epochs", 5);
  options.accuracy_min = arguments.number("accuracy", 0.88);
  options.separate_seconds = arguments.number("separate-seconds", 10.0);
  options.memory = arguments.text("memory", "16MiB");
  options.threads = arguments.number("threads", 1);
  options.seed = arguments.number<std::uint64_t>("seed", 1);
  options.report_seconds = arguments.number("report-seconds", 10.0);
  arguments.finish();
  if (options.epochs == 0) throw UsageError("--epochs: at least 1");
  if (options.threads == 0) throw UsageError("--threads: at least 1");
  if (!std::filesystem::is_directory(options.dataset)) {
    throw UsageError("there is no folder " + options.dataset);
  }
  options.program = std::filesystem::read_symlink("/proc/self/exe");
  options.command = batchcast_command(options.program);
  return options;
}

}  // namespace sweep
