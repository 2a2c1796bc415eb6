// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <nanobind/nanobind.h>

// The parts of the extension module batchcast._producer, each added by its file.
namespace batchcast::inline v0_1::python {

void add_python_source(nanobind::module_& module);
void add_serve(nanobind::module_& module);
void add_dataset_stream(nanobind::module_& module);
void add_batch_stream(nanobind::module_& module);
void add_cut_files(nanobind::module_& module);
void add_ends_in_time(nanobind::module_& module);

}  // namespace batchcast::inline v0_1::python
