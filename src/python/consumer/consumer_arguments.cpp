// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "python/consumer/consumer_arguments.hpp"

#include "options/consumer_options.hpp"
#include "python/consumer/call_arguments.hpp"

#include <batchcast/consumer/delivery.hpp>
#include <batchcast/core/limits.hpp>
#include <batchcast/core/printable.hpp>
#include <batchcast/starting/start_command.hpp>

#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstdlib>
#include <string>

namespace nb = nanobind;

namespace batchcast::inline v0_1::python {
namespace {

/// The name of consumers in lists: the script's.
[[nodiscard]] std::string script_name() {
  const nb::object arguments = nb::module_::import_("sys").attr("argv");
  if (nb::len(arguments) == 0) return {};
  const nb::object first = arguments[0];
  if (!PyUnicode_Check(first.ptr())) return {};
  std::string name = nb::str(first).c_str();
  name.erase(0, name.rfind('/') + 1);
  if (name.empty() || name.starts_with('-')) return {};  // the program's then
  for (char& c : name) c = c > ' ' && c <= '~' ? c : '?';
  name.resize(std::min(name.size(), limits::consumer_name_bytes_max));
  return name;
}

[[noreturn]] void refuse_start(const Argument& it) {
  if (PyUnicode_Check(it.value.ptr()) == 0) it.refuse_type("a batchcast.Start");
  const std::string source = printable(it.text());
  it.refuse_type(text("a batchcast.Start, such as bc.Start(\"{}\")", source).c_str());
}

/// A worker of Ray numbers its own GPUs; the producer that it starts, all of the node.
void place_on_node(const nb::object& ray, ConsumerOptions& options) {
  if (options.start.source.empty() || options.placement.is_host()) return;
  if (detail::value_of(options.start.arguments, "--place")) return;
  const unsigned own = detail::settled(options.placement).device();
  const auto number = nb::cast<unsigned>(ray.attr("gpu_of_node")(own));
  options.start.arguments.insert(options.start.arguments.end(),
                                 {"--place", Placement::on_cuda(number).text()});
}

void settle_in_ray(ConsumerOptions& options) {
  if (std::getenv("RAY_RAYLET_PID") == nullptr) return;
  const nb::object ray = nb::module_::import_("batchcast._ray");
  if (!nb::cast<bool>(ray.attr("is_worker")())) return;
  ray.attr("settle")();
  if (!options.start.source.empty()) ray.attr("warn_of_end")(options.stream);
  place_on_node(ray, options);
}

}  // namespace

CalledOptions options_of(const nb::args& args, const nb::kwargs& kwargs) {
  const Arguments given("Consumer", options::consumer_options().options(), consumer_by_place, args,
                        kwargs);
  CalledOptions called;
  given.take(&called.options);
  if (called.options.name.empty() && called.options.group == Group()) {
    called.options.name = script_name();
  }
  given.with("start", [&](Argument it) {
    if (it.is_none()) return;
    const StartOptions* start = nullptr;
    if (!nb::try_cast<const StartOptions*>(it.value, start)) refuse_start(it);
    called.options.start = *start;
  });
  given.with("log", [&](Argument it) {
    if (!it.is_none() && PyCallable_Check(it.value.ptr()) == 0) {
      it.refuse_type("a callable that takes a level and a text");
    }
    called.log = nb::borrow(it.value);
  });
  settle_in_ray(called.options);
  return called;
}

}  // namespace batchcast::inline v0_1::python
