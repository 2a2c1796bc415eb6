// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/ring/spinner.hpp>

#include <sched.h>

namespace batchcast {

void Spinner::yield() noexcept { ::sched_yield(); }

}  // namespace batchcast
