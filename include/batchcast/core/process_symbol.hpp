// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

namespace batchcast::inline v0_1::detail {

/// The address of that symbol in the libraries loaded by now; null if none has it.
[[nodiscard]] void* process_symbol(const char* name) noexcept;

/// Keeps the library that has the code at that address loaded, even after a dlclose.
void keep_loaded(const void* code) noexcept;

}  // namespace batchcast::inline v0_1::detail
