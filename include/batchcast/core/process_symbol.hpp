// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

namespace batchcast::inline v0_1::detail {

/// The address of that symbol in whatever this process has loaded by now; null if nothing has it.
[[nodiscard]] void* process_symbol(const char* name) noexcept;

/// Keeps the program or library that has the code at that address loaded from now on, also after a
/// dlclose of it.
void keep_loaded(const void* code) noexcept;

}  // namespace batchcast::inline v0_1::detail
