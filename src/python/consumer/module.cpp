// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "python/consumer/bindings.hpp"

#include <batchcast/version.hpp>

#include <string>

NB_MODULE(_consumer, module) {
  // Objects may live as long as the process: batches under tensors that frameworks keep.
  nanobind::set_leak_warnings(false);
  module.attr("__version__") = std::string(batchcast::version).c_str();
  batchcast::python::add_errors(module);
  batchcast::python::add_interpreter(module);
  batchcast::python::add_start(module);
  batchcast::python::add_field(module);
  batchcast::python::add_batch(module);
  batchcast::python::add_consumer(module);
  batchcast::python::add_checkpoint(module);
}
