// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/language.hpp>

#include <batchcast/core/log.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace batchcast::inline v0_1 {

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
  /// It ends when nobody has been attached for so long: above 0, and at most
  /// limits::waiting_seconds_max (2,000,000). Negative: never.
  double idle_exit_s = 30;
  /// Further arguments of `batchcast serve`, each a word. Those that change the samples (--shard,
  /// --on-bad-sample; --dtype, --samples and --order of `synthetic:`) are compared as well.
  std::vector<std::string> arguments = {};
  /// The command. Empty: $BATCHCAST_COMMAND, else `batchcast` beside the running program, in `bin`
  /// beside its folder or in the folder above it, else where the CMake package is installed that
  /// the program was built with, else on the PATH.
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
  /// Users besides this one and root whose producers are trusted.
  std::vector<std::uint32_t> allow_uids = {};
};

/// Sees to it that the stream is served with what the options ask for: source, recipe, seed and the
/// arguments above. It runs `batchcast ensure`, which starts `batchcast serve` where nobody serves
/// the stream, as a process that outlives both; of all that ask at the same time one starts it, and
/// the others wait for that one. Then it compares the recipes; the source is opened only where its
/// path does not say that it is the same data, or where no recipe says which fields it has.
///
/// Throws StartFailed with the text of a `batchcast serve` that failed, to each that waited for it,
/// or where there is no such command; RecipeMismatch with what differs; StreamNotFound when time is
/// up, which leaves what was started to come up; Refused where the stream is served but finished,
/// failed, or lets nobody in; InvalidArgument; SystemError.
///
/// From any thread; several may ask at once. Of this process it leaves no child, whatever the
/// program does with SIGCHLD and its own children.
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
