// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

namespace batchcast::inline v0_1::detail {

/// Whether this process runs its handlers at exit: nobody will look at what is kept from then on.
[[nodiscard]] bool process_ends() noexcept;
/// `process_ends` from now on; an interpreter that ends says so before the process does.
void note_process_end() noexcept;
/// Once a process, after its static objects were made: has exit() note it before these go.
void watch_process_end() noexcept;

}  // namespace batchcast::inline v0_1::detail
