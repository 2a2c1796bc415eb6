// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

namespace batchcast::inline v0_1::detail {

/// Whether this process runs its handlers at exit: nothing that is kept from then on will be used.
[[nodiscard]] bool process_ends() noexcept;
/// Makes `process_ends` true: an interpreter that ends says so before the process does.
void note_process_end() noexcept;
/// Has exit() call `note_process_end` before static objects are destroyed. Call it once in a
/// process, after they were made.
void watch_process_end() noexcept;

}  // namespace batchcast::inline v0_1::detail
