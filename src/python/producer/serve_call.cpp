// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "python/producer/serve_call.hpp"

#include "python/consumer/call_arguments.hpp"
#include "python/producer/producer_bindings.hpp"
#include "serving/serve_table.hpp"

#include <batchcast/core/text.hpp>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <new>
#include <utility>

namespace nb = nanobind;

namespace batchcast::inline v0_1::python {
namespace {

constexpr const char* about =
    R"(Serves `source` as a stream that any number of trainers attach to by its name.

    bc.serve("imagefolder:/data/train", recipe="imagenet-train", stream="train")

`source` is one of

- a text, `imagefolder:DIR`, `webdataset:a-{000..099}.tar`, …: what `batchcast serve` takes;
- a dataset: an object with `__len__` and `__getitem__` whose samples are dicts, tuples or single
  values of bytes, arrays, tensors and numbers. Numbers become i64, f64 and bool, as torch's
  default_collate has them. C++ threads read the dataset, in another order in each epoch, and do
  what `recipe` says. With a method `fingerprint()` the stream is pure;
- a loader: a torch DataLoader, or anything that `for` goes through and that gives batches. Each
  pass is an epoch. Generators are gone through once.

Blocks until the epochs are made and trainers have them, with a line of progress on stderr. Ctrl-C
stops the stream and raises KeyboardInterrupt. A stream of another process is never replaced:
StreamTaken.

)";

/// `source` may come without its name.
constexpr std::size_t by_place = 1;

void add_own_options(options::Table<ServeCall>& table) {
  table.heading("In Python");
  table.add("background", &ServeCall::background,
            "Return once the dataset is opened; `stop()` of the handle, or the end of the process, "
            "ends the stream.");
  table.add("replace", &ServeCall::replace,
            "Stop a stream of that name which this process serves, as a notebook's cell that runs "
            "again does.");
  table.add("fields", &ServeCall::fields,
            "Names for a tuple's values (by default `data`; `image` and `label` of two; else "
            "`field0`, …), or the keys of a dict to serve.");
  table.object(
      "axes", "collections.abc.Mapping[str, str | collections.abc.Sequence[str]] | None",
      "The fields of which samples have different numbers of rows, by the axes that they lie "
      "on: {\"boxes\": (\"boxes\", \"classes\")}.");
  table.add("batched", &ServeCall::batched,
            "False: a loader gives samples; True: an object with `__getitem__` gives batches.");
  table.add("processes", &ServeCall::processes,
            "Processes to fork for reading a dataset whose Python code takes long; 0: threads of "
            "this process read it.");
  table.path("directory", &ServeCall::directory,
             "Where the stream's files are to be, instead of the usual place.");
  table.add("progress", &ServeCall::progress,
            "Print progress on stderr; by default unless `background`.");
}

[[nodiscard]] const options::Options& call_options() {
  static const options::Options all = [] {
    options::Table<ServeCall> made;
    made.include(&ServeCall::serve, options::python_options(serving::serve_options().options()));
    add_own_options(made);
    return made.options();
  }();
  return all;
}

[[nodiscard]] const options::Options& serve_arguments() {
  static const options::Options all = [] {
    options::Table<ServeCall> made;
    made.object("source", "object", "See above.").needed();
    options::Options options = made.options();
    options.insert(options.end(), call_options().begin(), call_options().end());
    return options;
  }();
  return all;
}

/// The fields on each axis, in a dict.
void take_axes(const Arguments& given, ServeCall& call) {
  given.with("axes", [&](Argument it) {
    if (it.is_none()) return;
    if (PyMapping_Check(it.value.ptr()) == 0 || PySequence_Check(it.value.ptr()) != 0) {
      it.refuse_type("a dict of fields by the names of axes");
    }
    call.axes.emplace();
    for (const nb::handle pair : nb::borrow(it.value).attr("items")()) {
      const nb::object axis = pair[0];
      const nb::object of_axis = pair[1];
      const Argument fields{"axes", of_axis};
      std::vector<std::string> names;
      if (PyUnicode_Check(fields.value.ptr()) != 0) {
        names.push_back(fields.text());
      } else {
        names = fields.texts();
      }
      call.axes->emplace_back(Argument{"axes", axis}.text(), std::move(names));
    }
  });
}

[[nodiscard]] nb::object axes_of(const ServeCall& call) {
  if (!call.axes) return nb::none();
  nb::dict axes;
  for (const auto& [axis, fields] : *call.axes) {
    axes[axis.c_str()] = nb::tuple(nb::cast(fields));
  }
  return axes;
}

/// Of an option that serve does not have, and that says what has it.
void refuse_batch_size(const nb::kwargs& kwargs) {
  if (!kwargs.contains("batch_size")) return;
  nb::module_::import_("batchcast._names")
      .attr("refuse_unknown")("serve", nb::make_tuple("batch_size"), nb::tuple());
}

[[nodiscard]] nb::object serve(const nb::args& args, const nb::kwargs& kwargs) {
  refuse_batch_size(kwargs);
  nb::kwargs said;  // None says nothing
  for (const auto [name, value] : kwargs) {
    if (!value.is_none() || nb::cast<std::string>(name) == "source") said[name] = value;
  }
  const Arguments given("serve", serve_arguments(), by_place, args, said);
  ServeCall call;
  given.take(&call);
  take_axes(given, call);
  nb::object source;
  given.with("source", [&](Argument it) { source = nb::borrow(it.value); });
  return nb::module_::import_("batchcast._serve")
      .attr("serve_as")(nb::none(), source, nb::cast(std::move(call)));
}

/// Of `python -m batchcast serve SOURCE WORD...`, as the command hands it on.
[[nodiscard]] ServeCall call_in(const std::vector<std::string>& words) {
  ServeCall call;
  call.background = true;
  call.progress = true;
  options::assign_words(serving::serve_options().options(), &call.serve, words);
  if (call.serve.epochs == 0) call.serve.epochs.reset();  // the command's word for no limit
  return call;
}

/// What Python's part of serving asks for.
constexpr const char* shown[] = {
    "stream", "recipe",    "on_bad_sample", "epochs",    "background", "replace",
    "fields", "batched",   "processes",     "directory", "progress",   "seed",
    "order",  "tokenizer", "chat_template", "train_on",  "no_eos",     "corpus"};

}  // namespace

void add_serve(nb::module_& module) {
  const std::string parameters = options::python_parameters(call_options(), 0);
  const std::string init = text("def __init__(self, {}) -> None", parameters);
  nb::class_<ServeCall> type(module, "ServeOptions", "The options of a stream to serve.");
  type.def(
      "__init__",
      [](ServeCall* self, const nb::args& args, const nb::kwargs& kwargs) {
        ServeCall call;
        const Arguments given("ServeOptions", call_options(), 0, args, kwargs);
        given.take(&call);
        take_axes(given, call);
        new (self) ServeCall(std::move(call));
      },
      nb::sig(init.c_str()));
  type.def_static("of_words", &call_in, nb::arg("words"),
                  nb::sig("def of_words(words: collections.abc.Sequence[str]) -> ServeOptions"),
                  "Those that `batchcast serve` has with these words, `--name=value` or `--flag`.");
  for (const char* const name : shown) {
    const options::Option& option = *options::find(call_options(), name);
    const std::string getter = text("def {}(self) -> {}", option.name, object_type(option));
    type.def_prop_ro(
        name, [&option](const ServeCall& call) { return object_of(option.get(&call)); },
        nb::sig(getter.c_str()));
  }
  type.def_prop_ro("axes", &axes_of,
                   nb::sig("def axes(self) -> dict[str, tuple[str, ...]] | None"));
  type.def(
      "given_for_samples",
      [](const ServeCall& call) { return serving::given_for_samples(call.serve); },
      "The options that were given and that only go with samples which are made one by one.");
  const std::string signature = text("def serve({}) -> batchcast._serving.Serving",
                                     options::python_parameters(serve_arguments(), by_place));
  const std::string doc = about + options::python_doc(call_options());
  module.def("serve", &serve, nb::sig(signature.c_str()), doc.c_str());
  module.def(
      "_option_names", [] { return options::names_of(serve_arguments()); },
      "The names of serve's arguments.");
}

}  // namespace batchcast::inline v0_1::python
