// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/spinner.hpp>

#include <batchcast/core/inline.hpp>

namespace batchcast::inline v0_1 {

BATCHCAST_INLINE void Spinner::yield() noexcept { simulation::step(); }

}  // namespace batchcast::inline v0_1
