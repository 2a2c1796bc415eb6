// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/log.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace batchcast {

/// What `batchcast serve` is to be started with where nobody serves a stream yet.
struct StartOptions {
  /// As on the command line: `imagefolder:train`. Empty: nothing is started.
  std::string source = {};
  /// A preset's name or the path of a TOML file; empty: every part as it stands.
  std::string recipe = {};
  std::uint64_t seed = 0;
  /// Bytes for samples, at most.
  std::uint64_t memory = std::uint64_t{256} << 20;
  /// 0: endless.
  std::uint64_t epochs = 0;
  /// Consumers that the first publication waits for.
  std::uint32_t wait_for = 0;
  /// It ends when nobody has been attached for so long. Negative: never.
  double idle_exit_s = 30;
  /// Further arguments of `batchcast serve`, each a word.
  std::vector<std::string> arguments = {};
  /// The command. Empty: $BATCHCAST_COMMAND, else `batchcast` beside the running program or in the
  /// folder above it, else on the PATH, else where this library was installed.
  std::string command = {};
};

/// Which stream, and who tells about it.
struct StartTarget {
  std::string stream;
  /// Where to look for the stream, instead of the usual places.
  std::string directory = {};
  /// How long to wait until it is served. Negative: for ever.
  int timeout_ms = 30'000;
  LogCallback log = {};
};

/// Sees to it that the stream is served. Of all processes that ask at the same time one starts
/// `batchcast serve`, which outlives it; the others wait for that one. Returns at once where a
/// producer answers. Throws StartFailed with the text of a `batchcast serve` that failed, to each
/// that waited for it; StreamNotFound when time is up; InvalidArgument, SystemError.
void ensure_served(const StartTarget& target, const StartOptions& options);

/// Throws RecipeMismatch, with what differs, unless `recipe_json` (a stream's, from its board) is
/// what `options` ask for.
void check_recipe(std::string_view stream, std::string_view recipe_json,
                  const StartOptions& options);

}  // namespace batchcast
