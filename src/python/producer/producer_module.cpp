// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "python/consumer/consumer_bindings.hpp"
#include "python/producer/producer_bindings.hpp"

NB_MODULE(_producer, module) {
  nanobind::set_leak_warnings(false);  // a stream may be served until the process ends
  module.doc() = "Streams that this process serves: what `batchcast.serve` is made of.";
  batchcast::python::add_errors(module);
  batchcast::python::add_interpreter(module);
  batchcast::python::add_python_source(module);
  batchcast::python::add_serve(module);
  batchcast::python::add_dataset_stream(module);
  batchcast::python::add_batch_stream(module);
  batchcast::python::add_cut_files(module);
  batchcast::python::add_ends_in_time(module);
}
