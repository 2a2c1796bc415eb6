// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/log.hpp>
#include <batchcast/start_options.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// Which stream, and the options to start it with and to compare it with.
struct EnsureRequest {
  std::string stream;
  /// Where to look for the stream, instead of the usual places.
  std::string directory = {};
  int timeout_ms = 30'000;  ///< negative: never
  /// Users besides this one and root whose producers are trusted.
  std::vector<std::uint32_t> allow_uids = {};
  /// The words of `batchcast serve`, the first of them the file to run.
  std::vector<std::string> serve = {};
  /// What is compared: source, recipe, seed, and of the arguments those that change samples.
  StartOptions asked = {};
  bool json = false;  ///< the answer as one JSON object
  LogCallback log = {};
};

struct EnsureAnswer {
  std::string_view word;         ///< of ensure_word
  std::string text;              ///< for people
  std::string recipe_json = {};  ///< of a stream that is served with what was asked for
};

/// Makes sure that the stream is served with what was asked for: the work of `batchcast ensure`. Of
/// several callers at the same time one starts `serve`, which outlives this process. The time-out
/// does not bound opening a source to compare it.
[[nodiscard]] EnsureAnswer ensure(const EnsureRequest& request);

/// Prints the answer to the request on stdout for the program that runs this process. Returns the
/// exit code: 0 served, 1 mismatch, 2 invalid, 3 failed or timeout, 4 refused. It is also 3 where
/// the answer cannot be printed; the request's log says so.
[[nodiscard]] int give_answer(const EnsureAnswer& answer, const EnsureRequest& request);

/// Ensures, gives one answer, and returns its exit code. Ends the process with 3 when the reader of
/// stdout is gone, and when time is up, even if it hangs or stdout is full. `with_parent`: also
/// when the process that started it dies, although others may still have that end of stdout open.
[[nodiscard]] int answer(const EnsureRequest& request, bool with_parent);

}  // namespace batchcast::inline v0_1::detail
