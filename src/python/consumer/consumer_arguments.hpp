// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/consumer.hpp>

#include <nanobind/nanobind.h>

#include <cstddef>

namespace batchcast::inline v0_1::python {

/// `stream` and `batch_size` may come without their names.
constexpr std::size_t consumer_by_place = 2;

/// The arguments of Python's `Consumer(...)`.
struct CalledOptions {
  ConsumerOptions options;
  nanobind::object log = nanobind::none();  ///< not among the options yet
};

/// Throws TypeError for names and types that it does not take, InvalidArgument for values.
[[nodiscard]] CalledOptions options_of(const nanobind::args& args, const nanobind::kwargs& kwargs);

}  // namespace batchcast::inline v0_1::python
