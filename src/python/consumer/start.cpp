// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "python/consumer/arguments.hpp"
#include "python/consumer/bindings.hpp"

#include <batchcast/start.hpp>

#include <nanobind/stl/string.h>

#include <new>
#include <string>

namespace nb = nanobind;

namespace batchcast::inline v0_1::python {
namespace {

constexpr const char* about =
    "What `batchcast serve` is started with where no producer serves the stream.\n\n"
    "    bc.Start(\"imagefolder:/data/train\", recipe=\"imagenet-train\", memory=\"4GiB\")\n\n"
    "`source`, `recipe`, `seed` and `arguments` say which samples the stream has: a stream that "
    "is\n"
    "served with others is refused with RecipeMismatch. The rest is for the trainer that starts "
    "the\n"
    "producer; a stream that is already served keeps its own.\n\n"
    "source: the dataset, as on the command line.\n"
    "recipe: a preset's name or the path of a TOML file; without, each part is a field, "
    "unchanged.\n"
    "memory: upper limit for the samples in host memory, as bytes or a text.\n"
    "epochs: how many to make; 0 is endless.\n"
    "wait_for: the first sample waits for this many trainers.\n"
    "idle_exit: the producer ends once no trainer has been there for so many seconds; None: "
    "never.\n"
    "arguments: further words of `batchcast serve`.\n"
    "command: the file to run, instead of the package's own.";

constexpr const char* signature =
    "def __init__(self, source: str, recipe: str | os.PathLike[str] | None = None, seed: int = 0, "
    "memory: int | str = \"256MiB\", epochs: int = 0, wait_for: int = 0, "
    "idle_exit: float | None = 30.0, arguments: collections.abc.Sequence[str] = (), "
    "command: str | os.PathLike[str] | None = None) -> None";

[[nodiscard]] StartOptions options_of(const nb::args& args, const nb::kwargs& kwargs) {
  const Arguments given("Start",
                        {"source", "recipe", "seed", "memory", "epochs", "wait_for", "idle_exit",
                         "arguments", "command"},
                        9, args, kwargs);
  StartOptions start;
  const Argument source = given.needed("source");
  start.source = source.text();
  if (start.source.empty()) source.refuse("it is empty, and there is nothing to serve.");
  given.with("recipe", [&](Argument it) { start.recipe = it.is_none() ? "" : it.path(); });
  given.with("seed", [&](Argument it) { start.seed = it.number(); });
  given.with("memory", [&](Argument it) { start.memory = it.memory(); });
  given.with("epochs", [&](Argument it) { start.epochs = it.number(); });
  given.with("wait_for", [&](Argument it) {
    start.wait_for = static_cast<std::uint32_t>(it.number(~std::uint32_t{0}));
  });
  given.with("idle_exit", [&](Argument it) { start.idle_exit_s = it.is_none() ? -1 : it.real(); });
  given.with("arguments", [&](Argument it) {
    const nb::tuple items = it.items();
    for (const nb::handle item : items) {
      start.arguments.push_back(Argument{it.name, item}.text());
    }
  });
  given.with("command", [&](Argument it) { start.command = it.is_none() ? "" : it.path(); });
  return start;
}

[[nodiscard]] nb::tuple arguments_of(const StartOptions& start) {
  nb::list words;
  for (const std::string& word : start.arguments) words.append(word);
  return nb::tuple(words);
}

/// A path may have bytes that are no text.
[[nodiscard]] nb::object path_of(const std::string& path) {
  const auto size = static_cast<Py_ssize_t>(path.size());
  return nb::steal(PyUnicode_DecodeFSDefaultAndSize(path.data(), size));
}

/// Loaders that are pickled have one with them.
[[nodiscard]] nb::tuple pickled(const nb::object& self) {
  const auto& start = nb::cast<const StartOptions&>(self);
  return nb::make_tuple(
      self.type(), nb::make_tuple(start.source, path_of(start.recipe), start.seed, start.memory,
                                  start.epochs, start.wait_for, start.idle_exit_s,
                                  arguments_of(start), path_of(start.command)));
}

}  // namespace

void add_start(nb::module_& module) {
  nb::class_<StartOptions>(module, "Start", about)
      .def(
          "__init__",
          [](StartOptions* self, const nb::args& args, const nb::kwargs& kwargs) {
            new (self) StartOptions(options_of(args, kwargs));
          },
          nb::sig(signature))
      .def_ro("source", &StartOptions::source)
      .def_ro("recipe", &StartOptions::recipe)
      .def_ro("seed", &StartOptions::seed)
      .def_ro("memory", &StartOptions::memory, "In bytes.")
      .def_ro("epochs", &StartOptions::epochs)
      .def_ro("wait_for", &StartOptions::wait_for)
      .def_ro("idle_exit", &StartOptions::idle_exit_s, "In seconds; negative: never.")
      .def_prop_ro("arguments", &arguments_of, nb::sig("def arguments(self) -> tuple[str, ...]"))
      .def_ro("command", &StartOptions::command)
      .def("__reduce__", &pickled,
           nb::sig("def __reduce__(self) -> tuple[type[Start], tuple[typing.Any, ...]]"))
      .def("__repr__", [](const StartOptions& start) {
        return nb::str(
                   "Start({!r}, recipe={!r}, seed={}, memory={}, epochs={}, wait_for={}, "
                   "idle_exit={}, arguments={!r}, command={!r})")
            .format(start.source, start.recipe, start.seed, start.memory, start.epochs,
                    start.wait_for, start.idle_exit_s, arguments_of(start), start.command);
      });
}

}  // namespace batchcast::inline v0_1::python
