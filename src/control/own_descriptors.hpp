// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

namespace batchcast::inline v0_1 {

/// Gives the calling thread, and the threads that it starts from then on, a private table of file
/// descriptors. Only `keep` and stderr are open there. False where the kernel or a sandbox does not
/// permit it: then nothing has changed.
///
/// libzmq 4.3.4 aborts the process when accept() finds no descriptor free. In a private table it
/// always finds one, even when the program has used up its limit.
[[nodiscard]] bool take_own_descriptors(int keep) noexcept;

/// Whether the calling thread may open that many more descriptors. errno says why not.
[[nodiscard]] bool has_free_descriptors(unsigned count) noexcept;

}  // namespace batchcast::inline v0_1
