// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

namespace batchcast::detail {

/// The address of that symbol in whatever this process has loaded by now; null if nothing has it.
[[nodiscard]] void* process_symbol(const char* name) noexcept;

}  // namespace batchcast::detail
