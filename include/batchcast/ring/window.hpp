// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstddef>
#include <cstdint>

namespace batchcast::inline v0_1 {

/// One field's circular array as this process sees it, mapped twice, back to back. So the samples
/// from any position on, up to the ring's capacity, are contiguous.
struct FieldWindow {
  std::byte* base = nullptr;  ///< read-only memory in a consumer
  std::uint64_t capacity = 0;
  std::uint64_t stride_bytes = 0;
  std::uint64_t sample_bytes = 0;

  [[nodiscard]] std::byte* at(std::uint64_t position) const noexcept {
    return base + position % capacity * stride_bytes;
  }
};

/// Copies samples out while the producer may be writing over them: the caller validates afterwards.
void copy_from_ring(std::byte* to, const FieldWindow& window, std::uint64_t position,
                    std::uint64_t samples) noexcept;

}  // namespace batchcast::inline v0_1
