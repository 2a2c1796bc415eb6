// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <string_view>

namespace batchcast::inline v0_1::detail {

/// Writes `text` without waiting until a pipe, a socket or a terminal has room; the rest is lost.
/// The flags of the descriptor stay as they are, since other processes share them. False where
/// something was lost. A pipe that no process has open for reading raises no SIGPIPE.
bool try_write(int fd, std::string_view text) noexcept;

}  // namespace batchcast::inline v0_1::detail
