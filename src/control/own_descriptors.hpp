// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

namespace batchcast::inline v0_1 {

/// Gives the calling thread, and the threads that it starts from then on, a table of file
/// descriptors of its own, in which only `keep` and stderr are open. False where the kernel or a
/// sandbox does not let us: then nothing has changed.
///
/// libzmq 4.3.4 aborts the process when accept() finds no descriptor free. In a table of its own it
/// always finds one, however many the program has used up.
[[nodiscard]] bool take_own_descriptors(int keep) noexcept;

/// Whether the calling thread may open so many descriptors more. False leaves the reason in errno.
[[nodiscard]] bool has_free_descriptors(unsigned count) noexcept;

}  // namespace batchcast::inline v0_1
