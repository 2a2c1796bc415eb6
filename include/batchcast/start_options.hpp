// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/language.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace batchcast::inline v0_1 {

/// The arguments of the `batchcast serve` that a trainer starts for a stream without a producer.
/// The new process has the working directory, environment, user, limits and processors of the
/// process that starts it.
struct StartOptions {
  // ---- The samples. Every trainer of the stream says these, and gets RecipeMismatch where the
  // stream is served with others.

  /// The dataset, as on the command line: `imagefolder:train`. Empty: nothing is started.
  std::string source = {};
  /// A preset's name or the path of a TOML file. Empty, the default: each part of the source is a
  /// field, unchanged.
  std::string recipe = {};
  /// Of the order and of all draws. Empty, the default: what `batchcast serve` takes without
  /// `--seed`, which is 0.
  std::optional<std::uint64_t> seed = std::nullopt;

  // ---- The process. The trainer that starts it chooses; a stream that is already served keeps its
  // own values.

  /// Upper limit for the samples in host memory, in bytes. Default: 256 MiB.
  std::uint64_t memory = std::uint64_t{256} << 20;
  /// Epochs to make. 0, the default: endless.
  std::uint64_t epochs = 0;
  /// The first publication waits for this many consumers. Default: 0, it waits for none.
  std::uint32_t wait_for = 0;
  /// The producer ends once no consumer has been attached for this long: above 0, and at most
  /// limits::waiting_seconds_max (2,000,000). Negative: never.
  double idle_exit_s = 30;

  // ---- Most users leave these alone.

  /// Further arguments of `batchcast serve`, one word each. Those that change the samples (--shard,
  /// --on-bad-sample; --dtype, --samples and --order of `synthetic:`) are compared as well.
  std::vector<std::string> arguments = {};
  /// The file to run. Empty, the default, takes the first of these that exists:
  /// - $BATCHCAST_COMMAND;
  /// - `batchcast` beside the running program, in `bin` beside its folder, or in the folder above
  ///   it;
  /// - the one installed with the CMake package that the program was built with;
  /// - the one on the PATH.
  std::string command = {};
  /// Of texts, which become tokens first (docs/text.md). Empty: not given.
  std::string tokenizer = {}, chat_template = {}, corpus = {};
};

}  // namespace batchcast::inline v0_1
