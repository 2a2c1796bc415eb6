// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "python/consumer/consumer_bindings.hpp"

#include <batchcast/consumer.hpp>
#include <batchcast/starting/start_command.hpp>
#include <batchcast/starting/start_process.hpp>
#include <batchcast/version.hpp>

#include <nanobind/stl/string.h>

#include <string>

namespace {

/// `start` runs the package's command unless the caller or $BATCHCAST_COMMAND names one.
void note_command(const std::string& path) {
  static std::string noted;  // under the GIL, when the package is imported
  noted = path;
  batchcast::detail::note_own_command(noted.c_str());
}

/// What `start` starts reads Python's sources with this Python unless $BATCHCAST_PYTHON names one.
void note_python(const std::string& path) {
  static std::string noted;  // under the GIL, when the package is imported
  noted = path;
  batchcast::detail::note_own_python(noted.c_str());
}

}  // namespace

NB_MODULE(_consumer, module) {
  // Objects may live as long as the process: batches under tensors that frameworks keep.
  nanobind::set_leak_warnings(false);
  module.attr("version") = std::string(batchcast::version).c_str();
  module.def("_note_command", &note_command, nanobind::arg("path"));
  module.def("_note_python", &note_python, nanobind::arg("path"));
  batchcast::python::add_errors(module);
  batchcast::python::add_interpreter(module);
  batchcast::python::add_start(module);
  batchcast::python::add_field(module);
  batchcast::python::add_batch(module);
  batchcast::python::add_consumer(module);
  batchcast::python::add_checkpoint(module);
}
