// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "coordinator.hpp"

#include <algorithm>
#include <cstdio>
#include <string>

namespace sweep {

inline void print_trainers(const SweepOptions& options, const SweepResult& result) {
  std::printf("\n%-13s %8s %10s %9s %7s  %s\n", "trainer", "accuracy", "samples/s", "waited s",
              "CPU s", "receipts that match");
  for (const Trained& trainer : result.trainers) {
    const TrainerReport& report = trainer.report;
    std::string receipts = text_of("%lu of %lu", report.receipts, options.epochs);
    if (!trainer.process.well()) receipts += ", " + trainer.process.how();
    std::printf("%-13s %8s %10s %9.2f %7.1f  %s\n", trainer.setting.name().c_str(),
                report.epochs == 0 ? "-" : text_of("%.1f%%", 100 * report.accuracy).c_str(),
                count_text(report.samples_per_second()).c_str(), report.wait_seconds,
                trainer.process.cpu_seconds(), receipts.c_str());
  }
  std::printf("In lockstep, data comes as fast as the slowest trainer takes it: others wait.\n");
}

inline void print_cost(const SweepResult& result) {
  double samples = 0;
  for (const Trained& trainer : result.trainers) {
    samples += static_cast<double>(trainer.report.samples);
  }
  std::printf("\n%s samples trained on in %.0f s. Making them took, in seconds of CPU:\n",
              count_text(samples).c_str(), result.seconds);
  std::printf("%8.1f  in one producer for all trainers (that of the test stream took %.1f)\n",
              result.train_server_cpu_seconds, result.test_server_cpu_seconds);
  const LoaderReport& separate = result.separate;
  if (separate.samples == 0) return;
  const double each = separate.cpu_seconds / static_cast<double>(separate.samples);
  std::printf(
      "%8.1f  it would be in torch::data loaders, one a trainer: %.1f us a sample,\n"
      "%8s  measured with %s samples of %zu processes, times those above\n",
      each * samples, 1e6 * each, "", count_text(static_cast<double>(separate.samples)).c_str(),
      result.trainers.size());
}

/// Whether all went well; says on stderr what did not.
[[nodiscard]] inline bool print_verdict(const SweepOptions& options, const SweepResult& result) {
  double best = 0;
  for (const Trained& trainer : result.trainers) best = std::max(best, trainer.report.accuracy);
  const bool accurate = best >= options.accuracy_min;
  std::fflush(stdout);
  for (const std::string& failure : result.failures) {
    std::fprintf(stderr, "failed: %s\n", failure.c_str());
  }
  if (!accurate) {
    std::fprintf(stderr, "failed: the best trainer has an accuracy of %.1f%%, not %.1f%%\n",
                 100 * best, 100 * options.accuracy_min);
  }
  return accurate && result.failures.empty();
}

}  // namespace sweep
