// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/named_thread.hpp>

#include <batchcast/core/error.hpp>
#include <batchcast/core/inline.hpp>

namespace batchcast::inline v0_1 {

BATCHCAST_INLINE void throw_no_threads(const std::string& what, int error_number) {
  throw SystemError(text("batchcast: {} cannot be started. Allow this user more processes (`ulimit "
                         "-u`), this container or job more of them (pids.max of its cgroup), or "
                         "this process more address space (`ulimit -v`)",
                         what),
                    error_number);
}

}  // namespace batchcast::inline v0_1
