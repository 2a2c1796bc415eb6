// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/resample/kernels.hpp"

#include <cstdint>

namespace batchcast::test {

/// A SIMD level for the whole process; puts the best one back.
struct ForcedLevel {
  explicit ForcedLevel(std::int64_t level) { detail::force_simd_level(level); }
  ~ForcedLevel() { detail::force_simd_level(0); }
  ForcedLevel(const ForcedLevel&) = delete;
  ForcedLevel& operator=(const ForcedLevel&) = delete;
};

}  // namespace batchcast::test
