// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "python/consumer/options.hpp"

#include "python/consumer/arguments.hpp"

#include <batchcast/core/limits.hpp>

#include <algorithm>
#include <string>

namespace nb = nanobind;

namespace batchcast::inline v0_1::python {
namespace {

/// What consumers are called where lists show them: the script.
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

[[nodiscard]] Group group_of(const Argument& argument) {
  if (argument.is_none()) return {};
  if (PyUnicode_Check(argument.value.ptr())) return Group(argument.text());
  const char* const wanted = "\"auto\", \"NAME:RANK/WORLD\" or a tuple (name, rank, world)";
  if (PySequence_Check(argument.value.ptr()) == 0) argument.refuse_type(wanted);
  const nb::tuple items = argument.items();
  if (items.size() != 3) argument.refuse_type(wanted);
  const auto number = [&](std::size_t i) {
    return Argument{argument.name, items[i]}.number(~std::uint32_t{0});
  };
  return {Argument{argument.name, items[0]}.text(), number(1), number(2)};
}

void take_place(const Arguments& given, ConsumerOptions& options) {
  given.with("pace", [&](Argument it) { options.pace = it.choice<Pace>(); });
  given.with("join", [&](Argument it) { options.join = it.choice<Join>(); });
  given.with("cursor", [&](Argument it) { options.cursor = it.number(); });
  given.with("between_epochs",
             [&](Argument it) { options.between_epochs = it.choice<BetweenEpochs>(); });
  given.with("tail", [&](Argument it) { options.tail = it.choice<Tail>(); });
  given.with("group", [&](Argument it) { options.group = group_of(it); });
  given.with("on_miss", [&](Argument it) { options.on_miss = it.choice<OnMiss>(); });
  given.with("observes", [&](Argument it) { options.observes = it.flag(); });
}

void take_memory(const Arguments& given, ConsumerOptions& options) {
  given.with("access", [&](Argument it) { options.access = it.choice<Access>(); });
  given.with("placement", [&](Argument it) { options.placement = Placement(it.text()); });
  given.with("pin", [&](Argument it) { options.pin = it.flag(); });
  given.with("pin_device", [&](Argument it) {
    options.pin_device = static_cast<unsigned>(it.number(~std::uint32_t{0}));
  });
  given.with("explain_faults", [&](Argument it) { options.explain_faults = it.flag(); });
}

void take_attachment(const Arguments& given, ConsumerOptions& options) {
  given.with("name", [&](Argument it) {
    if (!it.is_none()) options.name = it.text();
  });
  given.with("connect_timeout", [&](Argument it) { options.connect_timeout_ms = it.timeout_ms(); });
  // Above, it would never sleep, and hear of no signal.
  constexpr std::uint64_t spin_us_max = 100'000;
  given.with("spin_us", [&](Argument it) { options.spin_us = it.number(spin_us_max); });
  given.with("directory", [&](Argument it) { options.directory = it.is_none() ? "" : it.path(); });
  given.with("allow_uids", [&](Argument it) {
    const nb::tuple items = it.items();
    for (const nb::handle item : items) {
      const std::uint64_t uid = Argument{it.name, item}.number(~std::uint32_t{0});
      options.allow_uids.push_back(static_cast<std::uint32_t>(uid));
    }
  });
  given.with("start", [&](Argument it) {
    if (it.is_none()) return;
    const StartOptions* start = nullptr;
    if (!nb::try_cast<const StartOptions*>(it.value, start)) it.refuse_type("a batchcast.Start");
    options.start = *start;
  });
}

}  // namespace

CalledOptions options_of(const nb::args& args, const nb::kwargs& kwargs) {
  const Arguments given("Consumer", {"stream",         "batch_size",     "name",
                                     "pace",           "join",           "cursor",
                                     "between_epochs", "tail",           "group",
                                     "access",         "placement",      "pin",
                                     "pin_device",     "on_miss",        "connect_timeout",
                                     "spin_us",        "directory",      "allow_uids",
                                     "observes",       "explain_faults", "log",
                                     "start"},
                        2, args, kwargs);
  CalledOptions called;
  called.options.stream = given.needed("stream").text();
  given.with("batch_size", [&](Argument it) { called.options.batch_size = it.number(); });
  take_attachment(given, called.options);
  take_place(given, called.options);
  take_memory(given, called.options);
  if (called.options.name.empty() && called.options.group == Group()) {
    called.options.name = script_name();
  }
  given.with("log", [&](Argument it) {
    if (!it.is_none() && PyCallable_Check(it.value.ptr()) == 0) {
      it.refuse_type("a callable that takes a level and a text");
    }
    called.log = nb::borrow(it.value);
  });
  return called;
}

}  // namespace batchcast::inline v0_1::python
