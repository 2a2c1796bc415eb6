// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/batch.hpp>
#include <batchcast/core/schema.hpp>

#include <nanobind/nanobind.h>

#include <cstddef>

namespace batchcast::inline v0_1::python {

void add_numpy(nanobind::module_& module);

/// The numpy type of a field's elements. For bf16 it is that of ml_dtypes; throws InvalidArgument
/// where that is not installed.
[[nodiscard]] nanobind::object numpy_type(const FieldSpec& field);

/// A numpy array over a field in host memory, without a copy. It keeps the batch's samples, and is
/// read-only unless these are private to the consumer.
[[nodiscard]] nanobind::object array_of(const Batch& batch, std::size_t field);

}  // namespace batchcast::inline v0_1::python
