// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <CLI/CLI.hpp>

#include <functional>

namespace batchcast::cli {

/// What `main` runs once the arguments are read; returns the exit code.
using Action = std::function<int()>;

// Each adds its command to the program. The options live as long as the returned closure, which is
// put into `chosen` if that command was given.
void add_serve(CLI::App& program, Action& chosen);
void add_ensure(CLI::App& program, Action& chosen);
void add_tokenize(CLI::App& program, Action& chosen);
void add_consume(CLI::App& program, Action& chosen);
void add_recipe(CLI::App& program, Action& chosen);
void add_inspect(CLI::App& program, Action& chosen);
void add_cache(CLI::App& program, Action& chosen);
void add_list(CLI::App& program, Action& chosen);
void add_set(CLI::App& program, Action& chosen);
void add_top(CLI::App& program, Action& chosen);
void add_metrics(CLI::App& program, Action& chosen);
void add_trace(CLI::App& program, Action& chosen);
void add_stop(CLI::App& program, Action& chosen);
void add_evict(CLI::App& program, Action& chosen);
void add_dump(CLI::App& program, Action& chosen);
void add_check(CLI::App& program, Action& chosen);
void add_peek(CLI::App& program, Action& chosen);
void add_bench(CLI::App& program, Action& chosen);
void add_doctor(CLI::App& program, Action& chosen);
void add_bench_ring(CLI::App& bench, Action& chosen);
void add_bench_latency(CLI::App& bench, Action& chosen);
void add_bench_pipeline(CLI::App& bench, Action& chosen);
void add_bench_share(CLI::App& bench, Action& chosen);

/// Exit codes, the same for every command.
enum Exit : int {
  exit_ok = 0,
  exit_not_held = 1,     ///< it ran, and a promise was found broken, or some data did not verify
  exit_usage = 2,        ///< the arguments cannot be meant
  exit_environment = 3,  ///< no such stream, no memory, name taken, …
  exit_stream_ended = 4  ///< the stream failed, was stopped, or lost its producer in mid-way
};

}  // namespace batchcast::cli
