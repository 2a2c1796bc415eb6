// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/command.hpp"

namespace batchcast::cli {

void add_bench(CLI::App& program, Action& chosen) {
  CLI::App* bench = program.add_subcommand("bench", "Measure ring and pipeline on this machine");
  bench->require_subcommand(1);
  add_bench_ring(*bench, chosen);
  add_bench_latency(*bench, chosen);
  add_bench_pipeline(*bench, chosen);
  add_bench_share(*bench, chosen);
}

}  // namespace batchcast::cli
