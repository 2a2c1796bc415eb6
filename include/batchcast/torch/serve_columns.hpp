// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/dtype.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/schema.hpp>
#include <batchcast/data/maker.hpp>
#include <batchcast/torch/dtype_twins.hpp>

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>
#include <torch/version.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// A torch loader's tensors as a stream's fields: their specs, and how they get into the ring.
namespace batchcast::inline v0_1::detail {

/// One field of a batch: a tensor [samples, shape...] of all, or a tensor [shape...] of each.
struct TorchColumn {
  std::string name;
  std::vector<at::Tensor> tensors;
  bool one_each = false;

  [[nodiscard]] std::size_t samples() const {
    return one_each ? tensors.size() : static_cast<std::size_t>(tensors.front().size(0));
  }
};

struct TorchColumns {
  std::vector<TorchColumn> columns;
  std::size_t samples = 0;
};

[[nodiscard]] inline std::optional<DType> dtype_of(at::ScalarType type) noexcept {
  for (const DTypeTwin& twin : dtype_twins) {
    if (twin.there == type) return twin.here;
  }
  return std::nullopt;
}

[[noreturn]] inline void throw_unservable(const std::string& name, const std::string& why) {
  throw InvalidArgument(
      text("batchcast: field `{}` of the batch cannot be served: it is {}", name, why));
}

/// Throws InvalidArgument, naming the field, for a tensor that has no place in a stream.
[[nodiscard]] inline DType checked_dtype(const at::Tensor& tensor, const std::string& name) {
  if (!tensor.defined()) {
    throw_unservable(name, "an undefined tensor. Give each example of the dataset a value for it.");
  }
  if (tensor.is_nested()) {
    throw_unservable(name, "a nested tensor. Pad it: all samples of a stream have one shape.");
  }
  if (tensor.layout() != at::kStrided) {
    throw_unservable(
        name, "sparse, or of another layout than a dense tensor. Call to_dense() on it first.");
  }
  if (tensor.is_meta()) throw_unservable(name, "on the meta device, which holds no values.");
  const auto dtype = dtype_of(tensor.scalar_type());
  if (!dtype) {
    throw_unservable(
        name,
        text("{}, which streams have no dtype for. Convert it in the dataset: to(torch::kFloat) or "
             "to(torch::kLong), dequantize() for quantised and view_as_real() for complex numbers.",
             c10::toString(tensor.scalar_type())));
  }
  return *dtype;
}

/// The spec of one sample of a column. Throws InvalidArgument for a tensor that cannot be served.
[[nodiscard]] inline FieldSpec spec_of(const TorchColumn& column) {
  const at::Tensor& first = column.tensors.front();
  FieldSpec spec{column.name, checked_dtype(first, column.name), first.sizes().vec()};
  if (!column.one_each) {
    if (spec.shape.empty()) {
      throw_unservable(column.name,
                       "a tensor without dimensions, and the first one counts the samples. Give it "
                       "one value for each sample.");
    }
    spec.shape.erase(spec.shape.begin());
  }
  for (const at::Tensor& other : column.tensors) {
    const FieldSpec is{column.name, checked_dtype(other, column.name), other.sizes().vec()};
    if (column.one_each && is != spec) {
      throw_unservable(column.name, text("`{}` in one example and `{}` in another. Crop, resize or "
                                         "pad, so that all samples have one shape and dtype.",
                                         to_text(spec), to_text(is)));
    }
  }
  return spec;
}

/// The schema of a batch, without `sample_id`. Checks that all columns have equally many samples.
[[nodiscard]] inline Schema schema_of(const TorchColumns& batch) {
  Schema schema;
  for (const TorchColumn& column : batch.columns) {
    FieldSpec spec = spec_of(column);
    if (column.samples() != batch.samples) {
      throw InvalidArgument(
          text("batchcast: a batch has {} samples of field `{}` and {} of `{}`. The first "
               "dimension of every tensor counts the samples.",
               batch.samples, batch.columns.front().name, column.samples(), column.name));
    }
    if (column.name != sample_id_name) {
      schema.push_back(std::move(spec));
    } else if (spec.dtype != DType::i64 || !spec.shape.empty()) {
      throw_unservable(
          column.name,
          text("`{}`. It is the dataset's index: one i64 for each sample, or none at all.",
               to_text(spec)));
    }
  }
  return schema;
}

/// The elements as they lie. This way of asking makes no copy-on-write tensor copy.
[[nodiscard]] inline const std::byte* bytes_of(const at::Tensor& tensor) {
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 1)
  return static_cast<const std::byte*>(tensor.const_data_ptr());
#else
  return static_cast<const std::byte*>(tensor.data_ptr());
#endif
}

/// Whether the bytes in host memory are the values, in their order. autograd's zeros have no bytes.
[[nodiscard]] inline bool lies_plain(const at::Tensor& tensor) {
  return tensor.device().is_cpu() && tensor.is_contiguous() && !tensor.is_neg() &&
         !tensor._is_zerotensor();
}

/// Copies samples of any strides and device into their places.
inline void copy_strided(const at::Tensor& samples, const FieldSlots& to) {
  const auto item = static_cast<std::size_t>(samples.element_size());
  std::vector<std::int64_t> strides(static_cast<std::size_t>(samples.dim()), 1);
  for (std::size_t i = strides.size() - 1; i > 1; --i) {
    strides[i - 1] = strides[i] * samples.size(static_cast<std::int64_t>(i));
  }
  strides[0] = static_cast<std::int64_t>(to.stride_bytes / item);
  const at::Tensor places =
      at::from_blob(to.data, samples.sizes(), strides,
                    at::TensorOptions().dtype(samples.scalar_type()).device(at::kCPU));
  places.copy_(samples.detach());
}

/// Copies `count` samples of a column, from sample `begin` on, into their places.
inline void copy_samples(const TorchColumn& column, std::size_t begin, std::size_t count,
                         const FieldSlots& to) {
  if (column.one_each) {
    for (std::size_t i = 0; i < count; ++i) {
      const at::Tensor& sample = column.tensors[begin + i];
      const FieldSlots place{to.data + i * to.stride_bytes, to.stride_bytes};
      if (lies_plain(sample)) {
        std::memcpy(place.data, bytes_of(sample), sample.nbytes());
      } else {
        copy_strided(sample.unsqueeze(0), place);
      }
    }
    return;
  }
  const at::Tensor& all = column.tensors.front();
  if (!lies_plain(all)) {
    copy_strided(all.narrow(0, static_cast<std::int64_t>(begin), static_cast<std::int64_t>(count)),
                 to);
    return;
  }
  const std::size_t sample_bytes = all.nbytes() / column.samples();
  const std::byte* const from = bytes_of(all) + begin * sample_bytes;
  if (to.stride_bytes == sample_bytes) {
    std::memcpy(to.data, from, count * sample_bytes);
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(to.data + i * to.stride_bytes, from + i * sample_bytes, sample_bytes);
  }
}

}  // namespace batchcast::inline v0_1::detail
