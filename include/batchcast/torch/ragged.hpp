// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/batch.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/text.hpp>
#include <batchcast/torch/tensor.hpp>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace batchcast::inline v0_1 {

/// A field on an axis as tensors: the rows of all samples, and where each sample's begin.
struct RaggedTensor {
  at::Tensor values;   ///< [rows, …]: shows the batch's memory, as `tensor_of` does
  at::Tensor offsets;  ///< [samples + 1], int64: sample i has rows offsets[i] … offsets[i + 1] - 1

  /// How many rows each sample has, int64.
  [[nodiscard]] at::Tensor lengths() const {
    return offsets.slice(0, 1) - offsets.slice(0, 0, offsets.size(0) - 1);
  }
  /// A copy [samples, most rows, …], filled up with `pad_value`. The second dimension is rounded up
  /// to a multiple of `multiple_of`.
  [[nodiscard]] at::Tensor padded(const at::Scalar& pad_value = 0,
                                  std::int64_t multiple_of = 1) const {
    const std::int64_t samples = offsets.size(0) - 1;
    const auto* const at = offsets.data_ptr<std::int64_t>();
    std::int64_t most = 0;
    for (std::int64_t i = 0; i < samples; ++i) most = std::max(most, at[i + 1] - at[i]);
    const std::int64_t unit = std::max<std::int64_t>(1, multiple_of);
    most = (most + unit - 1) / unit * unit;
    std::vector<std::int64_t> shape = values.sizes().vec();
    shape[0] = most;
    shape.insert(shape.begin(), samples);
    at::Tensor copy = at::full(shape, pad_value, values.options());
    for (std::int64_t i = 0; i < samples; ++i) {
      if (at[i] == at[i + 1]) continue;
      copy.select(0, i).slice(0, 0, at[i + 1] - at[i]).copy_(values.slice(0, at[i], at[i + 1]));
    }
    return copy;
  }
};

/// Images that keep their sizes, each in the upper left corner of one as large as the largest.
struct PaddedImages {
  at::Tensor values;  ///< a copy [samples, most height, most width, …]
  at::Tensor sizes;   ///< [samples, 2], int32: height and width of each; all else is padding
};

/// Of a batch that a window cuts: where its samples begin among its rows, run after run, int64. It
/// is a copy.
[[nodiscard]] inline at::Tensor offsets_of(const Batch& batch) {
  const auto from = batch.offsets();
  at::Tensor offsets = at::empty({static_cast<std::int64_t>(from.size())}, at::kLong);
  std::copy(from.begin(), from.end(), offsets.data_ptr<std::int64_t>());
  return offsets;
}

/// A field on an axis. `values` shows the batch's memory and keeps its lease, as `tensor_of` does;
/// `offsets` is a copy. Throws InvalidArgument for a field of one shape, and for a dtype without a
/// torch twin.
[[nodiscard]] inline RaggedTensor ragged_of(const Batch& batch, std::size_t index) {
  const auto rows = batch.rows<std::byte>(index);  // throws for a field of one shape
  RaggedTensor ragged;
  ragged.values = detail::tensor_of_all(batch, index);
  ragged.offsets = at::empty({static_cast<std::int64_t>(rows.offsets().size())}, at::kLong);
  std::copy(rows.offsets().begin(), rows.offsets().end(), ragged.offsets.data_ptr<std::int64_t>());
  return ragged;
}

/// The same by the field's name.
[[nodiscard]] inline RaggedTensor ragged_of(const Batch& batch, std::string_view field) {
  return ragged_of(batch, batch.fields().index_of(field));
}

/// Of a field whose rows are the pixels of images, with their sizes in the field `FIELD_size`, as a
/// recipe's `axis` makes it. Both sides are rounded up to a multiple of `multiple_of`. Throws
/// InvalidArgument where there is no such field, or a size has another number of pixels.
[[nodiscard]] inline PaddedImages padded_images(const Batch& batch, std::string_view field,
                                                const at::Scalar& pad_value = 0,
                                                std::int64_t multiple_of = 1) {
  const RaggedTensor pixels = ragged_of(batch, batch.fields().index_of(field));
  const auto sizes = batch.field<std::int32_t>(std::string(field) + "_size");
  const std::int64_t unit = std::max<std::int64_t>(1, multiple_of);
  const auto samples = static_cast<std::int64_t>(batch.size());
  const auto* const at = pixels.offsets.data_ptr<std::int64_t>();
  std::int64_t most[2] = {0, 0};
  PaddedImages images;
  images.sizes = at::empty({samples, 2}, at::kInt);
  for (std::int64_t i = 0; i < samples; ++i) {
    const auto size = sizes[static_cast<std::size_t>(i)];
    if (size.size() != 2 || std::int64_t{size[0]} * size[1] != at[i + 1] - at[i]) {
      throw InvalidArgument(
          text("batchcast: the field `{}_size` does not say the sizes of `{}`: sample {} of the "
               "batch has {} pixels.",
               field, field, i, at[i + 1] - at[i]));
    }
    for (std::size_t side = 0; side < 2; ++side) {
      most[side] = std::max<std::int64_t>(most[side], size[side]);
      images.sizes.data_ptr<std::int32_t>()[2 * i + static_cast<std::int64_t>(side)] = size[side];
    }
  }
  std::vector<std::int64_t> shape = {samples};
  for (const std::int64_t side : most) shape.push_back((side + unit - 1) / unit * unit);
  const std::vector<std::int64_t> row = pixels.values.sizes().slice(1).vec();
  shape.insert(shape.end(), row.begin(), row.end());
  images.values = at::full(shape, pad_value, pixels.values.options());
  const auto* const side = images.sizes.data_ptr<std::int32_t>();
  for (std::int64_t i = 0; i < samples; ++i) {
    if (at[i] == at[i + 1]) continue;
    std::vector<std::int64_t> whole = {side[2 * i], side[2 * i + 1]};
    whole.insert(whole.end(), row.begin(), row.end());
    images.values.select(0, i)
        .slice(0, 0, whole[0])
        .slice(1, 0, whole[1])
        .copy_(pixels.values.slice(0, at[i], at[i + 1]).reshape(whole));
  }
  return images;
}

}  // namespace batchcast::inline v0_1
