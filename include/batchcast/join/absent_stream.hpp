// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace batchcast::inline v0_1 {

/// Why no producer serves `stream`, as far as the files in `directories` tell. Its producer was
/// killed or has failed, or there is a stream with a similar name, so that the name may be
/// misspelt. Returns sentences for a message, each after a blank; empty where the files tell
/// nothing. It reads every stream's lock: use it for messages, not in loops.
[[nodiscard]] std::string why_absent(std::string_view stream,
                                     std::span<const std::string> directories);

/// What a producer leaves in `failure` for that: its pid, a line feed, and the reason, which is cut
/// where it is long.
inline constexpr std::size_t failure_bytes_max = std::size_t{8} << 10;
[[nodiscard]] std::string failure_note(std::int32_t pid, std::string_view reason);

}  // namespace batchcast::inline v0_1
