// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstdint>
#include <string>

namespace batchcast::inline v0_1 {

/// The ranks of one data-parallel job, which share each batch of a stream: batch k is world times
/// batch_size samples that follow each other, and this rank gets the rank-th part of them.
struct Group {
  /// Of the job; the same in all its ranks.
  std::string name = {};
  std::uint32_t rank = 0;   ///< below world
  std::uint32_t world = 0;  ///< 0: no group

  friend bool operator==(const Group&, const Group&) = default;
};

}  // namespace batchcast::inline v0_1
