// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

// What the processes of a sweep tell the one that started them: a line of text each time.
namespace sweep {

struct TrainerReport {
  std::uint64_t epochs = 0;  ///< that it has trained and tested after
  std::uint64_t samples = 0;
  std::uint64_t samples_total = 0;  ///< that it is going to train on
  double train_seconds = 0;         ///< without the tests in between
  double wait_seconds = 0;          ///< for data of either stream
  double loss = 0;
  double accuracy = 0;
  std::uint64_t receipts = 0;  ///< train epochs whose receipt was the producer's

  [[nodiscard]] double samples_per_second() const {
    return train_seconds > 0 ? static_cast<double>(samples) / train_seconds : 0;
  }
};

/// What a separate loader made, and what that took.
struct LoaderReport {
  std::uint64_t samples = 0;
  double cpu_seconds = 0;
};

inline void print(const TrainerReport& report) {
  std::printf("trained %lu %lu %lu %.6f %.6f %.6f %.6f %lu\n", report.epochs, report.samples,
              report.samples_total, report.train_seconds, report.wait_seconds, report.loss,
              report.accuracy, report.receipts);
  std::fflush(stdout);
}

inline void print(const LoaderReport& report) {
  std::printf("loaded %lu %.6f\n", report.samples, report.cpu_seconds);
  std::fflush(stdout);
}

[[nodiscard]] inline std::optional<TrainerReport> trainer_report(const std::string& line) {
  TrainerReport report;
  const int found =
      std::sscanf(line.c_str(), "trained %lu %lu %lu %lf %lf %lf %lf %lu", &report.epochs,
                  &report.samples, &report.samples_total, &report.train_seconds,
                  &report.wait_seconds, &report.loss, &report.accuracy, &report.receipts);
  return found == 8 ? std::optional(report) : std::nullopt;
}

[[nodiscard]] inline std::optional<LoaderReport> loader_report(const std::string& line) {
  LoaderReport report;
  const int found =
      std::sscanf(line.c_str(), "loaded %lu %lf", &report.samples, &report.cpu_seconds);
  return found == 2 ? std::optional(report) : std::nullopt;
}

}  // namespace sweep
