// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/batch.hpp>

#include <cstddef>
#include <cstdint>

namespace batchcast::inline v0_1::python {

/// How one field of a batch lies in memory.
struct Layout {
  const FieldInfo& info;
  std::byte* data;
  std::size_t samples;
  std::size_t stride_bytes;

  [[nodiscard]] std::size_t dimensions() const noexcept { return info.spec.shape.size() + 1; }
  /// Whether sample follows sample without a gap.
  [[nodiscard]] bool contiguous() const noexcept {
    return samples <= 1 || stride_bytes == info.sample_bytes;
  }
  /// From the first byte to the last.
  [[nodiscard]] std::size_t extent_bytes() const noexcept {
    return samples == 0 ? 0 : (samples - 1) * stride_bytes + info.sample_bytes;
  }
};

[[nodiscard]] inline Layout layout_of(const Batch& batch, std::size_t field) {
  const FieldInfo& info = batch.fields()[field];
  const auto view =
      info.on_device ? batch.device_field<std::byte>(field) : batch.all<std::byte>(field);
  return {info, const_cast<std::byte*>(view.data()), view.size(), view.sample_stride_bytes()};
}

}  // namespace batchcast::inline v0_1::python
