// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "options/start_options.hpp"
#include "python/consumer/call_arguments.hpp"
#include "python/consumer/consumer_bindings.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/start.hpp>

#include <nanobind/stl/string.h>

#include <new>
#include <string>

namespace nb = nanobind;

namespace batchcast::inline v0_1::python {
namespace {

constexpr const char* about =
    R"(What `batchcast serve` is started with where no producer serves the stream.

    bc.Start("imagefolder:/data/train", recipe="imagenet-train", memory="4GiB")

)";

[[nodiscard]] const options::Options& table() { return options::start_options().options(); }

[[nodiscard]] StartOptions options_of(const nb::args& args, const nb::kwargs& kwargs) {
  StartOptions start;
  Arguments("Start", table(), table().size(), args, kwargs).take(&start);
  if (start.source.empty()) {
    throw InvalidArgument("batchcast: source: it is empty, and there is nothing to serve.");
  }
  return start;
}

[[nodiscard]] nb::object value_of(const options::Option& option, const StartOptions& start) {
  return object_of(option.get(&start));
}

/// Loaders that are pickled have one with them.
[[nodiscard]] nb::tuple pickled(const nb::object& self) {
  nb::list values;
  for (const options::Option& option : table()) {
    values.append(value_of(option, nb::cast<const StartOptions&>(self)));
  }
  return nb::make_tuple(self.type(), nb::tuple(values));
}

[[nodiscard]] nb::object text_of(const StartOptions& start) {
  nb::str text("Start(");
  for (const options::Option& option : table()) {
    const char* const form = &option == &table().front() ? "{0}{2!r}" : "{0}, {1}={2!r}";
    text = nb::str(form).format(text, option.name, value_of(option, start));
  }
  return text + nb::str(")");
}

}  // namespace

void add_start(nb::module_& module) {
  const std::string doc = about + options::python_doc(table());
  const std::string signature =
      text("def __init__(self, {}) -> None", options::python_parameters(table(), table().size()));
  nb::class_<StartOptions> type(module, "Start", doc.c_str());
  type.def(
      "__init__",
      [](StartOptions* self, const nb::args& args, const nb::kwargs& kwargs) {
        new (self) StartOptions(options_of(args, kwargs));
      },
      nb::sig(signature.c_str()));
  for (const options::Option& option : table()) {
    const std::string getter = text("def {}(self) -> {}", option.name, object_type(option));
    type.def_prop_ro(
        option.name.c_str(),
        [&option](const StartOptions& start) { return value_of(option, start); },
        nb::sig(getter.c_str()), option.kind == options::Kind::bytes ? "In bytes." : "");
  }
  type.def("__reduce__", &pickled,
           nb::sig("def __reduce__(self) -> tuple[type[Start], tuple[typing.Any, ...]]"))
      .def("__repr__", &text_of, nb::sig("def __repr__(self) -> str"));
}

}  // namespace batchcast::inline v0_1::python
