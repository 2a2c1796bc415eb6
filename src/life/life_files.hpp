// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/file_descriptor.hpp>
#include "life/life.hpp"

#include <optional>
#include <string>

// The files of a stream's lives, in the stream's directory: `life`, and a lock for each member.
namespace batchcast::inline v0_1::detail {

/// Nothing where there is none, or none that can be read.
[[nodiscard]] std::optional<Life> read_life(const std::string& directory);
/// Replaces it as a whole. Throws SystemError.
void write_life(const std::string& directory, const Life& life);
/// Removes the life file and the locks of all members.
void remove_lives(const std::string& directory) noexcept;

/// Makes a member's lock, and takes it. The process that closes the last copy of the descriptor
/// releases it. Throws SystemError.
[[nodiscard]] FileDescriptor make_member_lock(const std::string& directory,
                                              const std::string& name);
/// Whether a process holds that member's lock.
[[nodiscard]] bool is_member_alive(const std::string& directory, const std::string& name) noexcept;
void remove_member_lock(const std::string& directory, const std::string& name) noexcept;

}  // namespace batchcast::inline v0_1::detail
