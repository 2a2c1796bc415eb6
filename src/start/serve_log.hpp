// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <string>

namespace batchcast::inline v0_1::detail {

/// The last lines of a log, each after a line feed and indented, for the end of a message; empty
/// where there are none.
[[nodiscard]] std::string last_lines(const std::string& path);

}  // namespace batchcast::inline v0_1::detail
