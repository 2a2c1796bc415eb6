// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/cuda/device.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace batchcast::testing {

/// What a field's memory on the first GPU is a multiple of.
[[nodiscard]] inline std::uint64_t field_granule() {
  const auto gpus = detail::cuda::list_devices();
  return gpus.empty() ? std::uint64_t{2} << 20 : detail::cuda::ring_granularity(gpus.front());
}
/// For rings that are to be small: so many bytes where the driver can, else what so many fields
/// take at least.
[[nodiscard]] inline std::uint64_t ring_bytes(std::uint64_t small, std::size_t fields) {
  return std::max(small, fields * field_granule());
}

}  // namespace batchcast::testing
