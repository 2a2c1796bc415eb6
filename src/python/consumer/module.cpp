// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "python/consumer/bindings.hpp"

#include <batchcast/version.hpp>

#include <string>

NB_MODULE(_consumer, module) {
  module.attr("__version__") = std::string(batchcast::version).c_str();
  batchcast::python::add_errors(module);
  batchcast::python::add_batch(module);
  batchcast::python::add_consumer(module);
}
