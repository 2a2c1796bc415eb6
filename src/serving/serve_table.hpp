// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "options/table.hpp"
#include "serving/serve_options.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace batchcast::inline v0_1::serving {

/// Of every command that makes samples, `source` first.
[[nodiscard]] const options::Table<DatasetOptions>& dataset_options();
/// Those of them that say what samples are, without the source.
[[nodiscard]] const options::Options& inspection_options();
/// The options of `batchcast serve` and of Python's serve, which `batchcast ensure` has as well.
[[nodiscard]] const options::Table<ServeOptions>& serve_options();

/// What threads make samples: of commands that serve or measure.
template <class Struct>
void add_workers(options::Table<Struct>& table, std::optional<std::uint32_t> Struct::*workers) {
  constexpr std::uint64_t most = 256;
  table
      .add("workers", workers,
           "Threads that make samples; auto: as many as it takes, at most the processors.")
      .from(1, most)
      .or_word("auto")
      .settable();
}

/// The names of the options that were given and that only go with samples which are made one by
/// one. A loader makes its batches itself.
[[nodiscard]] std::vector<std::string> given_for_samples(const ServeOptions& options);

}  // namespace batchcast::inline v0_1::serving
