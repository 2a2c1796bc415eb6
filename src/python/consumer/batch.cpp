// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "python/consumer/bindings.hpp"

#include <batchcast/batch.hpp>

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace nb = nanobind;

namespace batchcast::python {
namespace {

struct Field {};

[[nodiscard]] nb::dlpack::dtype dlpack_type(DType dtype) {
  using Code = nb::dlpack::dtype_code;
  const auto bits = static_cast<std::uint8_t>(8 * size_of(dtype));
  switch (dtype) {
    case DType::i8:
    case DType::i16:
    case DType::i32:
    case DType::i64:
      return {static_cast<std::uint8_t>(Code::Int), bits, 1};
    case DType::f16:
    case DType::f32:
    case DType::f64:
      return {static_cast<std::uint8_t>(Code::Float), bits, 1};
    case DType::bf16:
      return {static_cast<std::uint8_t>(Code::Bfloat), bits, 1};
    case DType::boolean:
      return {static_cast<std::uint8_t>(Code::Bool), bits, 1};
    default:
      return {static_cast<std::uint8_t>(Code::UInt), bits, 1};
  }
}

/// One field of all samples, without a copy: the array keeps the batch.
template <class Array>
[[nodiscard]] Array array_of(const Batch& batch, std::size_t index) {
  const FieldInfo& field = batch.fields()[index];
  const auto view = batch.field<std::byte>(index);
  std::vector<std::size_t> shape = {view.size()};
  for (const std::int64_t extent : field.spec.shape)
    shape.push_back(static_cast<std::size_t>(extent));
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t i = shape.size() - 1; i > 1; --i)
    strides[i - 1] = strides[i] * static_cast<std::int64_t>(shape[i]);
  strides[0] = static_cast<std::int64_t>(view.sample_stride_bytes() / size_of(field.spec.dtype));
  auto lease = std::make_unique<Batch>(batch.share());
  const nb::capsule owner(lease.release(),
                          [](void* held) noexcept { delete static_cast<Batch*>(held); });
  return Array(const_cast<std::byte*>(view.data()), shape.size(), shape.data(), owner,
               strides.data(), dlpack_type(field.spec.dtype));
}

}  // namespace

void add_batch(nb::module_& module) {
  nb::class_<Field>(module, "Field");
  nb::class_<Batch>(module, "Batch")
      .def_prop_ro("size", &Batch::size)
      .def_prop_ro("position", &Batch::position)
      .def_prop_ro("epoch", &Batch::epoch)
      .def_prop_ro("padding", &Batch::padding)
      .def("__getitem__",
           [](const Batch& batch, const std::string& name) {
             return array_of<nb::ndarray<nb::numpy, nb::ro>>(batch, batch.fields().index_of(name));
           })
      .def("keys", [](const Batch& batch) {
        nb::list names;
        for (std::size_t i = 0; i < batch.fields().sample_id_index(); ++i)
          names.append(batch.fields()[i].spec.name);
        return names;
      });
}

}  // namespace batchcast::python
