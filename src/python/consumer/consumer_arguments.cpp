// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "python/consumer/consumer_arguments.hpp"

#include "options/consumer_options.hpp"
#include "python/consumer/call_arguments.hpp"

#include <batchcast/core/limits.hpp>

#include <algorithm>
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
    if (!nb::try_cast<const StartOptions*>(it.value, start)) it.refuse_type("a batchcast.Start");
    called.options.start = *start;
  });
  given.with("log", [&](Argument it) {
    if (!it.is_none() && PyCallable_Check(it.value.ptr()) == 0) {
      it.refuse_type("a callable that takes a level and a text");
    }
    called.log = nb::borrow(it.value);
  });
  return called;
}

}  // namespace batchcast::inline v0_1::python
