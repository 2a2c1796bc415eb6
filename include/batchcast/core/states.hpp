// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

// What a stream and its consumers are doing. Only messages turn these enums into words.
namespace batchcast::inline v0_1 {

/// The state of a stream. The numbers stand on the board.
enum class StreamState : std::uint32_t {
  starting = 0,  ///< served, but the first publication still waits for consumers
  running = 1,
  draining = 2,  ///< every sample of the last epoch is published; consumers may still read
  finished = 3,  ///< and all of them have
  stopped = 4,   ///< ended in mid-stream on request
  failed = 5,    ///< gave up; the state text says why
};

/// The state of a consumer, as its producer sees it.
enum class ConsumerState : std::uint8_t {
  running,
  skipping,   ///< waits for the end of an epoch that it leaves out
  stalled,    ///< has kept the producer from writing for a while
  stopped,    ///< its process is stopped, as by SIGSTOP
  paused,     ///< between its loops; the producer does not wait for it
  observing,  ///< looks at what is there, and counts for nothing
  resting,    ///< a mirror whose own ring no consumer reads
};

[[nodiscard]] constexpr std::string_view name_of(StreamState state) noexcept {
  constexpr std::array<std::string_view, 6> names = {"starting", "running", "draining",
                                                     "finished", "stopped", "failed"};
  const auto index = static_cast<std::size_t>(state);
  return index < names.size() ? names[index] : "?";
}

[[nodiscard]] constexpr std::string_view name_of(ConsumerState state) noexcept {
  constexpr std::array<std::string_view, 7> names = {"running", "skipping",  "stalled", "stopped",
                                                     "paused",  "observing", "resting"};
  const auto index = static_cast<std::size_t>(state);
  return index < names.size() ? names[index] : "?";
}

namespace detail {

/// The producer makes no more samples of such a stream; consumers may still read it.
[[nodiscard]] constexpr bool has_ended(StreamState state) noexcept {
  return state != StreamState::starting && state != StreamState::running;
}

}  // namespace detail

}  // namespace batchcast::inline v0_1
