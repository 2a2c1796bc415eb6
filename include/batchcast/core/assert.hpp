// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstdio>
#include <cstdlib>

// These checks are for our bugs only. What a peer, a user or the system can cause is an exception
// or a value. They are always on; each use on the data path is O(1).
namespace batchcast::inline v0_1::detail {
[[noreturn]] inline void assertion_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "batchcast: internal error: %s does not hold (%s:%d). Please report this.\n",
               condition, file, line);
  std::abort();
}

/// Ends the process for a bug of the caller that neither a value nor an exception can answer.
[[noreturn]] inline void misused(const char* what) {
  std::fprintf(stderr, "batchcast: %s\n", what);
  std::abort();
}
}  // namespace batchcast::inline v0_1::detail

#define BATCHCAST_ASSERT(condition)   \
  ((condition) ? static_cast<void>(0) \
               : ::batchcast::detail::assertion_failed(#condition, __FILE__, __LINE__))
