// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "python/consumer/bindings.hpp"

#include <batchcast/consumer.hpp>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace nb = nanobind;

namespace batchcast::python {
namespace {

constexpr int slice_ms = 100;  ///< between two looks for Ctrl-C

/// The next batch; nothing at the end of an epoch.
[[nodiscard]] std::optional<Batch> next(Consumer& consumer) {
  for (;;) {
    NextBatch next;
    {
      const nb::gil_scoped_release released;
      next = consumer.try_next(slice_ms);
    }
    if (next.outcome == Outcome::batch) return std::move(next.batch);
    if (next.outcome == Outcome::end_of_epoch) return std::nullopt;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }
}

}  // namespace

void add_consumer(nb::module_& module) {
  nb::class_<Consumer>(module, "Consumer")
      .def(
          "__init__",
          [](Consumer* self, std::string stream, std::uint64_t batch_size, std::string directory) {
            ConsumerOptions options;
            options.stream = std::move(stream);
            options.batch_size = batch_size;
            options.directory = std::move(directory);
            const nb::gil_scoped_release released;
            new (self) Consumer(std::move(options));
          },
          nb::arg("stream"), nb::arg("batch_size") = 64, nb::kw_only(), nb::arg("directory") = "")
      .def("next", &next)
      .def_prop_ro("epoch", &Consumer::epoch)
      .def_prop_ro("cursor", &Consumer::cursor)
      .def_prop_ro("samples_per_epoch", &Consumer::samples_per_epoch)
      .def("__iter__", [](nb::handle self) { return self; })
      .def("__next__", [](Consumer& consumer) {
        auto batch = next(consumer);
        if (!batch) throw nb::stop_iteration();
        return std::move(*batch);
      });
}

}  // namespace batchcast::python
