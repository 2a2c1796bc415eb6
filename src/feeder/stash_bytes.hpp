// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/data/maker.hpp>

#include <cstdint>
#include <optional>

namespace batchcast::inline v0_1::detail {

/// Private memory for finished samples whose turn to take rows has not come: as much as was asked
/// for, else an eighth of the ring's. Where lengths are known, and without axes, no sample waits.
[[nodiscard]] inline std::uint64_t stash_bytes(const SampleMaker& maker, std::uint64_t ring_bytes,
                                               std::optional<std::uint64_t> asked) {
  if (axes_of(maker.schema()).empty() || maker.fills_in_place()) return 0;
  return asked.value_or(ring_bytes / 8);
}

}  // namespace batchcast::inline v0_1::detail
