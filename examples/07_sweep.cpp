// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// A sweep over learning rates and batch sizes: `example_07_sweep DATASET RECIPE`. One producer
// makes the samples to train on, another those to test with. Every trainer is another process (this
// program again: sweep/trainer.hpp) and takes all of them, in batches of another size. The program
// also measures what separate loaders would cost (sweep/separate_loader.hpp).
#include "sweep/arguments.hpp"
#include "sweep/coordinator.hpp"
#include "sweep/interrupt.hpp"
#include "sweep/options.hpp"
#include "sweep/separate_loader.hpp"
#include "sweep/table.hpp"
#include "sweep/trainer.hpp"

#include <cstdio>
#include <exception>
#include <string>

namespace {

int run_sweep(const sweep::SweepOptions& options) {
  sweep::catch_interrupts();
  const sweep::SweepResult result = sweep::Coordinator(options).run();
  sweep::print_trainers(options, result);
  sweep::print_cost(result);
  return sweep::print_verdict(options, result) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string role = argc > 1 ? argv[1] : "";
  if (role == "trainer") {
    sweep::run_trainer(sweep::Arguments({argv + 2, argv + argc}));
  } else if (role == "loader") {
    sweep::run_separate_loader(sweep::Arguments({argv + 2, argv + argc}));
  } else {
    return run_sweep(sweep::sweep_options(sweep::Arguments({argv + 1, argv + argc})));
  }
} catch (const sweep::Interrupted& interrupted) {
  std::fprintf(stderr, "interrupted\n");
  return 128 + interrupted.signal;
} catch (const sweep::UsageError& error) {
  std::fprintf(stderr, "%s\n", error.what());
  std::fprintf(stderr, sweep::sweep_usage, argv[0]);
  return 2;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
