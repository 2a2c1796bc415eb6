// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "serving/dataset.hpp"

#include <batchcast/feeder.hpp>
#include <batchcast/producer.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace batchcast::inline v0_1::serving {

/// What a process that serves a stream is asked for. serve_table.hpp has the table.
struct ServeOptions {
  [[nodiscard]] static ProducerOptions with_heads() {
    ProducerOptions options;
    options.heads = 4;
    return options;
  }

  DatasetOptions dataset = {};
  /// Without what the dataset says and without the number of epochs.
  ProducerOptions producer = with_heads();
  std::optional<std::uint64_t> epochs = {};   ///< none, or 0: until it is stopped
  std::optional<std::uint32_t> workers = {};  ///< none, or 0: as many as it takes
  /// Of FeederOptions.
  std::optional<std::uint64_t> stash = {};
  double linger_s = -1;  ///< negative: without limit
  std::optional<double> idle_exit_s = {};
  bool keep_alive = false;
  std::uint32_t give_up_after = 3;
  bool replace = false;
  bool json = false;
  bool verbose = false;
  std::string log_format = "text";  ///< or `json`: of all that it says on stderr
};

[[nodiscard]] FeederOptions feeding_options(const ServeOptions& options);
/// Options for the dataset, among them the stream's epochs.
[[nodiscard]] DatasetOptions served_dataset(const ServeOptions& options);
/// The producer's, with all that `dataset` says.
/// `dataset` must outlive the producer.
[[nodiscard]] ProducerOptions serving_options(const ServeOptions& options, const Dataset& dataset);

/// Checks that there are threads, memory and address space enough, before anything is served.
/// Throws SystemError or OutOfMemory with what to give less of. See also longest_sample.hpp.
void rehearse_serving(const ServeOptions& options, const ProducerOptions& serving,
                      const Dataset& dataset);

/// Says on stderr what is served where, and which batches will not fit.
void say_what_is_served(const Producer& producer);

}  // namespace batchcast::inline v0_1::serving
