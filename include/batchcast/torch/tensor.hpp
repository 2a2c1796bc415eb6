// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/batch.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/field_table.hpp>
#include <batchcast/core/limits.hpp>
#include <batchcast/core/view.hpp>
#include <batchcast/torch/device_storage.hpp>
#include <batchcast/torch/dtype_twins.hpp>
#include <batchcast/torch/host_storage.hpp>
#include <batchcast/torch/storage.hpp>
#include <batchcast/torch/stream.hpp>

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace batchcast::inline v0_1 {

/// The torch twin of a field's dtype. Throws InvalidArgument where there is none (u16, u32, u64).
[[nodiscard]] inline at::ScalarType scalar_type(const FieldInfo& field) {
  for (const detail::DTypeTwin& twin : detail::dtype_twins) {
    if (twin.here == field.spec.dtype) return twin.there;
  }
  throw InvalidArgument(
      text("batchcast: field `{}` is {}, which libtorch has no tensors of. Convert it in the "
           "recipe, with the stage `to`; rows on an axis, which take no stage, have to be saved as "
           "i32 or i64.",
           field.spec.name, name_of(field.spec.dtype)));
}

namespace detail {

[[noreturn]] inline void throw_ragged(const FieldInfo& field) {
  throw InvalidArgument(text(
      "batchcast: samples have different numbers of rows in field {}, so a batch of them is no "
      "tensor of one shape. Take ragged_of(batch, \"{}\"): values and offsets, or a padded "
      "copy.",
      to_text(field.spec), field.spec.name));
}

inline void set_geometry(const at::Tensor& tensor, const FieldSpec& spec,
                         const FieldView<const std::byte>& samples) {
  const std::vector<std::int64_t>& shape = spec.shape;
  std::array<std::int64_t, limits::dimensions_max + 1> sizes;
  sizes[0] = static_cast<std::int64_t>(samples.size());
  std::copy(shape.begin(), shape.end(), sizes.begin() + 1);
  const at::IntArrayRef all_sizes(sizes.data(), shape.size() + 1);
  at::TensorImpl& tensor_impl = *tensor.unsafeGetTensorImpl();
  if (!samples.padded()) {
    tensor_impl.set_sizes_contiguous(all_sizes);
    return;
  }
  std::array<std::int64_t, limits::dimensions_max + 1> strides;
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i > 0; --i) {
    strides[i] = stride;
    stride *= sizes[i];
  }
  strides[0] = static_cast<std::int64_t>(samples.sample_stride_bytes() / size_of(spec.dtype));
  tensor_impl.set_sizes_and_strides(all_sizes, at::IntArrayRef(strides.data(), shape.size() + 1));
}

[[nodiscard]] inline at::DispatchKeySet dispatch_keys_of(c10::Device device) {
  return at::DispatchKeySet(device.is_cuda() ? at::DispatchKey::CUDA : at::DispatchKey::CPU);
}

/// The field's samples, or all rows of one on an axis.
[[nodiscard]] inline at::Tensor tensor_of_all(const Batch& batch, std::size_t index) {
  const FieldInfo& field = batch.fields()[index];
  const auto type = c10::scalarTypeToTypeMeta(
      index == batch.fields().sample_id_index() ? at::kLong : scalar_type(field));
  const auto view =
      field.on_device ? batch.device_field<std::byte>(index) : batch.all<std::byte>(index);
  // The bytes are the ring's or the consumer's: the storage tells the two apart.
  auto* const data = const_cast<std::byte*>(view.data());
  const std::size_t size =
      view.size() == 0 ? 0 : (view.size() - 1) * view.sample_stride_bytes() + field.sample_bytes;
  c10::Storage storage = field.on_device ? detail::storage_on_gpu(batch, {data, size})
                                         : detail::storage_on_host(batch, {data, size});
  const at::DispatchKeySet keys = detail::dispatch_keys_of(storage.device());
  at::Tensor tensor = at::detail::make_tensor<at::TensorImpl>(std::move(storage), keys, type);
  detail::set_geometry(tensor, field.spec, view);
  return field.on_device && detail::has_to_copy_on_gpu(batch) ? tensor.clone() : tensor;
}

}  // namespace detail

/// One field of all samples as a tensor [samples, shape...] over the batch's memory, without a
/// copy. The lease is held while any view of the tensor lives, or autograd keeps one; the batch
/// itself may go. From any thread.
///
/// Where the batch `keeps_writes`, a write to the tensor shows in the batch and in no other
/// process. Elsewhere a write copies first with libtorch 2.x, and ends the process with the ring's
/// message with 1.x. `sample_id` comes as int64. Throws InvalidArgument for a dtype without a torch
/// twin.
///
/// A batch on a GPU gives a tensor there, `is_cuda()`, except for `sample_id` and the producer's
/// `host_fields`. With libtorch 1.x, which could not keep writes off the ring, it is a copy. Its
/// lease waits for the stream that was current on this thread in this call: name further ones with
/// `use_on`. Throws GpuUnavailable where the program's libtorch cannot use that GPU.
[[nodiscard]] inline at::Tensor tensor_of(const Batch& batch, std::size_t index) {
  if (batch.fields()[index].axis >= 0) detail::throw_ragged(batch.fields()[index]);
  return detail::tensor_of_all(batch, index);
}

/// The same by the field's name. Throws InvalidArgument, which lists the names, for a wrong one.
[[nodiscard]] inline at::Tensor tensor_of(const Batch& batch, std::string_view field) {
  return tensor_of(batch, batch.fields().index_of(field));
}

/// torch's `record_stream` for tensors that may show a batch, about which torch's function knows
/// nothing. The memory stays as it is until that stream has passed the point at which the tensor
/// was dropped. The stream that was current when the batch came needs no naming.
inline void use_on(const at::Tensor& tensor, const c10::Stream& stream) {
  if (const Batch* const batch = detail::batch_under(tensor.storage())) use_on(*batch, stream);
  if (tensor.is_cuda() && !detail::shows_a_batch(tensor.storage())) tensor.record_stream(stream);
}

}  // namespace batchcast::inline v0_1
