// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

// Starting streams: ConsumerOptions::start and `ensure_served`. One file of a trainer that uses
// them includes this header; consumer.hpp alone has no code that starts a process. Programs that
// link the library have it, and so has torch.hpp.
#include <batchcast/core/language.hpp>

#include <batchcast/core/log.hpp>
#include <batchcast/start_options.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace batchcast::inline v0_1 {

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
  /// As in ConsumerOptions: called at least every 100 ms; an exception from it ends the wait.
  std::function<void()> while_waiting = {};
};

/// Makes sure that the stream is served with the source, recipe, seed and arguments of `options`.
/// It runs `batchcast ensure`. Where no producer serves the stream, that starts `batchcast serve`,
/// which outlives both processes. Of several callers at the same time one starts it, and the others
/// wait for that producer. Then the recipes are compared. The source is opened only where its path
/// does not show that the data are the same, or where no recipe names its fields.
///
/// Throws StartFailed where there is no such command or the started `batchcast serve` failed. Each
/// caller that waited for it gets its text. Throws RecipeMismatch, which says what differs. Throws
/// StreamNotFound when time is up; the producer that was started continues. Throws Refused where
/// the stream is served but finished or failed, or its producer admits no consumer. Throws
/// InvalidArgument and SystemError.
///
/// Any thread may call it, and several at once. It leaves no child of this process, no matter what
/// the program does with SIGCHLD and its own children.
void ensure_served(const StartTarget& target, const StartOptions& options);

namespace detail {
/// `path` has to last as long as the program.
bool note_installed_command(const char* path) noexcept;
#ifdef BATCHCAST_INSTALLED_COMMAND  // by the CMake package
[[maybe_unused]] static const bool installed_command_noted =
    note_installed_command(BATCHCAST_INSTALLED_COMMAND);
#endif
}  // namespace detail

}  // namespace batchcast::inline v0_1

#ifndef BATCHCAST_COMPILED
#include <batchcast/starting/definitions.hpp>
#endif
