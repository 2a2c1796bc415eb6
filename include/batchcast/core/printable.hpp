// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <string>
#include <string_view>

namespace batchcast::inline v0_1 {

/// Text from outside (a file's name, a consumer's name, a reason that a command gave), safe for a
/// terminal and a log. Control characters, which a terminal would obey, become `\x1b`, line breaks
/// `\n`. Bytes that are not UTF-8 are written one by one.
[[nodiscard]] std::string printable(std::string_view text);

/// The same for a message that has lines and tabs, and may quote such text.
[[nodiscard]] std::string printable_lines(std::string_view text);

}  // namespace batchcast::inline v0_1
