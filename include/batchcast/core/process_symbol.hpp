// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

namespace batchcast::inline v0_1::detail {

/// The address of that symbol in whatever this process has loaded by now; null if nothing has it.
[[nodiscard]] void* process_symbol(const char* name) noexcept;

/// Whatever has the code at that address stays loaded from now on, also where it is a library that
/// somebody closes.
void keep_loaded(const void* code) noexcept;

}  // namespace batchcast::inline v0_1::detail
