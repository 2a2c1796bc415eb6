// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// The second translation unit of the trainer, with every header that a trainer may include.
#include "half.hpp"

#include <batchcast/batch.hpp>
#include <batchcast/checkpoint.hpp>
#include <batchcast/consumer.hpp>
#include <batchcast/gpu.hpp>
#include <batchcast/start.hpp>
#include <batchcast/version.hpp>

void add(Sum& sum, const batchcast::Batch& batch) {
  sum.count += batch.size();
  for (const std::uint64_t id : batch.sample_ids()) sum.ids += id;
}
