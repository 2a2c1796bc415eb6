// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/consumer/attached_process.hpp>

#include <batchcast/core/error.hpp>
#include <batchcast/core/inline.hpp>

namespace batchcast::inline v0_1::detail {

BATCHCAST_INLINE void AttachedProcess::throw_forked() const {
  throw Forked(
      text("batchcast: this process was forked from the one that attached to stream `{}`, and "
           "cannot use its consumer. Attach after the fork, in the process that trains (with "
           "DataLoader workers: in none of them, num_workers = 0).",
           stream_));
}

}  // namespace batchcast::inline v0_1::detail
