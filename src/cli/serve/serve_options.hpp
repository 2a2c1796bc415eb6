// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "cli/serve/dataset_options.hpp"

#include <batchcast/core/limits.hpp>
#include <batchcast/core/placement.hpp>
#include <batchcast/producer.hpp>

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace batchcast::cli {

/// The options of `serve`, which `ensure` has as well.
struct ServeOptions {
  DatasetOptions dataset;
  std::string stream;
  std::string memory = "256MiB";
  std::vector<std::string> places;
  std::optional<std::string> device_memory;
  std::vector<std::string> host_fields;
  std::uint32_t wait_for = 0;
  std::uint64_t epochs = 0;
  std::uint64_t ahead = ProducerOptions().ahead;
  WorkersOption workers;
  std::uint32_t max_consumers = limits::consumers_default;
  std::string on_stall = "report";
  double stall_timeout_s = 60;
  double linger_s = -1;
  double idle_exit_s = -1;
  std::string huge_pages = "auto";
  std::vector<std::uint32_t> allow_uids;
  bool free_running = false;
  bool json = false;
  bool verbose = false;
};

/// SOURCE and every option but the stream's name.
void add_serve_options(CLI::App& command, ServeOptions& options);

/// Checks the options that the parser does not check and that need no dataset, because opening that
/// may take long. Throws CLI::ValidationError, InvalidArgument.
void check_serve_options(const ServeOptions& options);

[[nodiscard]] std::vector<Placement> places_of(const ServeOptions& options);
/// 0 where nothing is said.
[[nodiscard]] std::uint64_t device_memory_of(const ServeOptions& options);
/// Options for the dataset, among them the stream's epochs.
[[nodiscard]] DatasetOptions served_dataset(const ServeOptions& options);
/// Without what the dataset says, and without the number of epochs.
[[nodiscard]] ProducerOptions stream_options(const ServeOptions& options);
[[nodiscard]] ProducerOptions serving_options(const ServeOptions& options, const Dataset& dataset);

/// Nothing is served that would have to be given up at once for want of threads or address space.
/// Throws SystemError with what to give less of.
void rehearse_serving(const ServeOptions& options, const ProducerOptions& serving);

/// Says on stderr what is served where, and which batches will not fit.
void say_what_is_served(const Producer& producer);

}  // namespace batchcast::cli
