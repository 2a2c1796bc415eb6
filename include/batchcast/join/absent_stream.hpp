// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace batchcast::inline v0_1 {

/// Why no producer serves `stream`, as far as the files in `directories` tell: its producer was
/// killed or has failed, or a stream with a similar name is served, so that the name may be
/// misspelt. Sentences for a message, each after a blank; empty where the files tell nothing. Reads
/// every stream's lock: for messages, not for loops.
[[nodiscard]] std::string why_absent(std::string_view stream,
                                     std::span<const std::string> directories);

/// What a producer leaves in `failure` for that: its pid, a line feed, and the reason, cut short
/// where it is long.
inline constexpr std::size_t failure_bytes_max = std::size_t{8} << 10;
[[nodiscard]] std::string failure_note(std::int32_t pid, std::string_view reason);

}  // namespace batchcast::inline v0_1
