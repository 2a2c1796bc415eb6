// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <nanobind/nanobind.h>

#include <exception>
#include <string>

// The parts of the extension module batchcast._consumer, each added by its file.
namespace batchcast::inline v0_1::python {

/// Exceptions of the library become those of batchcast.errors, by their names.
void add_errors(nanobind::module_& module);
void add_interpreter(nanobind::module_& module);
void add_start(nanobind::module_& module);
void add_field(nanobind::module_& module);
void add_batch(nanobind::module_& module);
void add_consumer(nanobind::module_& module);
void add_checkpoint(nanobind::module_& module);

/// Raises batchcast.errors.NAME with that text.
[[noreturn]] void raise(const char* name, const std::string& text);

using ChangeText = std::string (*)(const std::string& text);

/// Raises the Python exception for one of the library's, with its text changed. Rethrows others.
[[noreturn]] void raise_changed(const std::exception_ptr& thrown, ChangeText change);

}  // namespace batchcast::inline v0_1::python
