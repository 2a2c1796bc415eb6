// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/batch.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/field_table.hpp>

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>
#include <torch/version.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace batchcast {

/// The torch twin of a field's dtype. Throws InvalidArgument where there is none (u16, u32, u64).
[[nodiscard]] inline at::ScalarType scalar_type(const FieldInfo& field) {
  switch (field.spec.dtype) {
    case DType::u8:
      return at::kByte;
    case DType::i8:
      return at::kChar;
    case DType::i16:
      return at::kShort;
    case DType::i32:
      return at::kInt;
    case DType::i64:
      return at::kLong;
    case DType::f16:
      return at::kHalf;
    case DType::bf16:
      return at::kBFloat16;
    case DType::f32:
      return at::kFloat;
    case DType::f64:
      return at::kDouble;
    case DType::boolean:
      return at::kBool;
    default:
      throw InvalidArgument("batchcast: field `" + field.spec.name + "` is " +
                            std::string(name_of(field.spec.dtype)) +
                            ", which libtorch has no tensors of. Convert it in the recipe, with "
                            "the stage `to`.");
  }
}

/// One field of all samples as a tensor [samples, shape...] over the batch's own memory. The lease
/// is held while any view of it lives.
[[nodiscard]] inline at::Tensor tensor_of(const Batch& batch, std::size_t index) {
  const FieldInfo& field = batch.fields()[index];
  const at::ScalarType type =
      index == batch.fields().sample_id_index() ? at::kLong : scalar_type(field);
  std::vector<std::int64_t> sizes{static_cast<std::int64_t>(batch.size())};
  sizes.insert(sizes.end(), field.spec.shape.begin(), field.spec.shape.end());
  const auto view = batch.field<std::byte>(index);
  auto held = std::make_shared<Batch>(batch.share());
  return at::from_blob(
      const_cast<std::byte*>(view.data()), sizes, [held](void*) {},
      at::TensorOptions().dtype(type));
}

[[nodiscard]] inline at::Tensor tensor_of(const Batch& batch, std::string_view field) {
  return tensor_of(batch, batch.fields().index_of(field));
}

}  // namespace batchcast
