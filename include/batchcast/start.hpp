// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/language.hpp>

#include <batchcast/core/log.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace batchcast::inline v0_1 {

/// The arguments of the `batchcast serve` that a trainer starts for a stream without a producer.
/// The new process has the working directory, environment, user, limits and processors of the
/// process that starts it.
struct StartOptions {
  // ---- The samples. Every trainer of the stream says these, and gets RecipeMismatch where the
  // stream is served with others.

  /// The dataset, as on the command line: `imagefolder:train`. Empty, the default: nothing is
  /// started.
  std::string source = {};
  /// A preset's name or the path of a TOML file. Empty, the default: each part of the source is a
  /// field, unchanged.
  std::string recipe = {};
  std::uint64_t seed = 0;

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
  /// The file to run. Empty, the default, is the first of these that is there: $BATCHCAST_COMMAND;
  /// `batchcast` beside the running program, in `bin` beside its folder, or in the folder above it;
  /// the one installed with the CMake package that the program was built with; the one on the PATH.
  std::string command = {};
};

/// Which stream, and how to look for it.
struct StartTarget {
  std::string stream;
  /// Where to look for the stream. Empty, the default: the usual places (join/directory.hpp).
  std::string directory = {};
  /// How long to wait until the stream is served; opening its dataset counts. Negative: for ever.
  int timeout_ms = 30'000;
  LogCallback log = {};
  /// User ids, besides this process's own and root, whose producers are trusted.
  std::vector<std::uint32_t> allow_uids = {};
  /// As that of ConsumerOptions: called at least every 100 ms; what it throws ends the wait.
  std::function<void()> while_waiting = {};
};

/// Makes sure that the stream is served with the source, recipe, seed and arguments of `options`.
/// It runs `batchcast ensure`. Where no producer serves the stream, that starts `batchcast serve`,
/// which outlives both processes. Of several callers at the same time one starts it, and the others
/// wait for that producer. Then the recipes are compared. The source is opened only where its path
/// does not show that it is the same data, or where no recipe says which fields it has.
///
/// Throws StartFailed where there is no such command or the started `batchcast serve` failed: with
/// its text, in each caller that waited for it. RecipeMismatch with what differs. StreamNotFound
/// when time is up; the producer that was started goes on. Refused where the stream is served but
/// finished or failed, or its producer admits no consumer. InvalidArgument; SystemError.
///
/// May be called from any thread, and from several at once. It leaves no child of this process,
/// whatever the program does with SIGCHLD and its own children.
void ensure_served(const StartTarget& target, const StartOptions& options);

namespace detail {
/// `path` lasts as long as the program.
bool note_installed_command(const char* path) noexcept;
#ifdef BATCHCAST_INSTALLED_COMMAND  // by the CMake package
[[maybe_unused]] static const bool installed_command_noted =
    note_installed_command(BATCHCAST_INSTALLED_COMMAND);
#endif
}  // namespace detail

}  // namespace batchcast::inline v0_1

#ifndef BATCHCAST_COMPILED
#include <batchcast/consumer.hpp>
#endif
