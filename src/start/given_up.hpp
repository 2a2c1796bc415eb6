// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "life/life.hpp"

#include <cstdint>
#include <optional>
#include <string>

// A file that kills each producer must not make its stream start again for ever.
namespace batchcast::inline v0_1::detail {

/// The life that a producer left which was killed, where a trainer waits for the next one.
/// `directory`: the stream's.
[[nodiscard]] std::optional<Life> life_waited_for(const std::string& directory);

/// A process is about to start the next producer. Notes how many in a row were killed by now, so
/// that one that is killed before it serves counts as well.
void note_start(const std::string& directory, Life& left) noexcept;

/// Whether a process that starts a stream's producers gives it up now. `limit` 0: never.
[[nodiscard]] constexpr bool is_given_up(std::uint32_t deaths, std::uint32_t limit) noexcept {
  return limit != 0 && deaths >= limit;
}

/// Leaves that reason for the trainers that wait: they get StreamFailed, until the stream is served
/// by hand. Does nothing where another process has the stream's name. `base`: above the stream's
/// directory.
void give_up_stream(const std::string& stream, const std::string& base,
                    const std::string& reason) noexcept;

/// Takes the name of a dead stream, as the next producer would, and gives it up again. Trainers
/// that wait for that producer get `reason`, unless it is empty. Throws StreamTaken where a
/// producer has the name, and SystemError.
void end_dead_stream(const std::string& stream, const std::string& base, const std::string& reason);

}  // namespace batchcast::inline v0_1::detail
