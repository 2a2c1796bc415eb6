// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <string>
#include <string_view>

namespace batchcast::inline v0_1 {

/// Text from outside (the name of a file, a consumer's name, a reason that a command gave) as it
/// may be shown on a terminal and in a log: what a terminal would obey is written `\x1b`, a line
/// break `\n`, and what is no UTF-8 byte by byte.
[[nodiscard]] std::string printable(std::string_view text);

/// The same for a message that has lines and tabs of its own, and may quote such text.
[[nodiscard]] std::string printable_lines(std::string_view text);

}  // namespace batchcast::inline v0_1
