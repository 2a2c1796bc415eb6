// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/batch.hpp>

#include <cstdint>

/// What the other translation unit of the trainer adds up.
struct Sum {
  std::uint64_t count = 0;
  std::uint64_t ids = 0;
};
void add(Sum& sum, const batchcast::Batch& batch);
