// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/log.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace batchcast {

/// What `batchcast serve` is to be started with where nobody serves a stream yet. Its working
/// directory, environment, user, limits and processors are those of the process that starts it.
struct StartOptions {
  /// As on the command line: `imagefolder:train`. Empty: nothing is started.
  std::string source = {};
  /// A preset's name or the path of a TOML file; empty: every part as it stands.
  std::string recipe = {};
  std::uint64_t seed = 0;
  /// Bytes for samples, at most. This and what follows is the first trainer's to say: a stream that
  /// is served already keeps its own.
  std::uint64_t memory = std::uint64_t{256} << 20;
  /// 0: endless.
  std::uint64_t epochs = 0;
  /// Consumers that the first publication waits for.
  std::uint32_t wait_for = 0;
  /// It ends when nobody has been attached for so long; above 0. Negative: never.
  double idle_exit_s = 30;
  /// Further arguments of `batchcast serve`, each a word. Those that change the samples (--shard,
  /// --on-bad-sample; --dtype, --samples and --order of `synthetic:`) count for `check_recipe`.
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
  /// How long to wait until it is served, its dataset opened. Negative: for ever.
  int timeout_ms = 30'000;
  LogCallback log = {};
};

/// Sees to it that the stream is served. Of all processes that ask at the same time one starts
/// `batchcast serve`, which outlives it; the others wait for that one. Returns at once where a
/// producer answers. Throws StartFailed with the text of a `batchcast serve` that failed, to each
/// that waited for it, or where there is no such command; StreamNotFound when time is up, which
/// leaves what was started to come up; InvalidArgument, Error, SystemError.
///
/// From any thread; several may ask at once. Of this process it forks nothing that stays.
void ensure_served(const StartTarget& target, const StartOptions& options);

/// Throws RecipeMismatch, with what differs, unless `recipe_json` (a stream's, from its board) is
/// what `options` ask for: source, recipe, seed and the arguments above. The source is opened only
/// where its path does not say that it is the same data, or where no recipe says which fields it
/// has. Throws InvalidArgument for a recipe or an argument that cannot be.
void check_recipe(std::string_view stream, std::string_view recipe_json,
                  const StartOptions& options);

}  // namespace batchcast
