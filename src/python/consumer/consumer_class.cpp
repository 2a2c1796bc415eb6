// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "options/consumer_options.hpp"
#include "python/consumer/call_arguments.hpp"
#include "python/consumer/consumer_arguments.hpp"
#include "python/consumer/consumer_bindings.hpp"
#include "python/consumer/trainer.hpp"

#include <batchcast/checkpoint.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/text.hpp>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace nb = nanobind;

namespace batchcast::inline v0_1::python {
namespace {

constexpr const char* about =
    R"(One trainer's part in a stream.

    with bc.Consumer("imagenet", batch_size=256) as consumer:
        while consumer.has_next_epoch():
            for batch in consumer:
                step(batch["image"], batch["label"])

Attaching waits for the producer, `connect_timeout` seconds at most, or starts it (`start`). Each
`for` is one epoch; leaving it early skips what is left of that epoch. The loop's variable
holds a batch until the next one is there: a ring has to have room for both.

One thread at a time uses a consumer; a process can have several. Calls that wait let other threads
run, and Ctrl-C ends them. After fork the child cannot use it (Forked). Batches may outlive it.

)";

[[nodiscard]] nb::object values() { return nb::module_::import_("batchcast._values"); }

// ---- an epoch

/// `for batch in consumer`: one epoch.
class Loop {
 public:
  explicit Loop(nb::object consumer)
      : consumer_(std::move(consumer)), number_(trainer().begin_loop()) {}
  ~Loop() {
    // This object goes when the loop ends; if an exception ends it, while that is on its way. A
    // generator that is closed counts as leaving its loop on purpose.
    const bool by_exception =
        PyErr_Occurred() != nullptr && PyErr_ExceptionMatches(PyExc_GeneratorExit) == 0;
    if (consumer_.is_valid() && inside_) trainer().end_loop(number_, by_exception);
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  [[nodiscard]] Batch next() { return next(-1); }
  /// The loop continues after a Timeout.
  [[nodiscard]] Batch next(int timeout_ms) {
    if (over_) throw nb::stop_iteration();
    // An exception of `next` does not end the epoch: a checkpoint needs the cursor there.
    over_ = timeout_ms < 0;
    inside_ = false;
    std::optional<Batch> batch = riding([&] { return trainer().next(timeout_ms); });
    over_ = !batch;
    if (!batch) throw nb::stop_iteration();
    inside_ = true;
    return std::move(*batch);
  }
  /// Gives the same batch again until it is delivered. A loop that goes before skips nothing.
  [[nodiscard]] nb::object hold(int timeout_ms) {
    if (is_over()) throw nb::stop_iteration();
    over_ = timeout_ms < 0;
    inside_ = false;
    nb::object batch = riding([&] { return trainer().hold(timeout_ms); });
    over_ = !batch.is_valid();
    if (over_) throw nb::stop_iteration();
    epoch_ = nb::inst_ptr<Batch>(batch)->epoch();
    return batch;
  }
  /// It gives no further batch: its epoch ended, `leave_epoch` left it, or an exception ended it.
  [[nodiscard]] bool is_over() const noexcept { return over_ || trainer().was_left(number_); }
  /// The epoch of the last batch that `hold` gave.
  [[nodiscard]] std::optional<std::uint64_t> epoch() const noexcept { return epoch_; }
  [[nodiscard]] bool is_delivered() const noexcept { return !trainer().holds(); }
  void set_delivered(bool /*always*/) noexcept {
    inside_ = true;
    trainer().deliver_held();
  }

 private:
  /// Without a producer the loop is not over: it goes on with the next one, or says so again.
  template <class Call>
  [[nodiscard]] auto riding(Call&& call) -> decltype(call()) {
    try {
      return call();
    } catch (const ProducerGone&) {
      over_ = false;
      throw;
    }
  }
  [[nodiscard]] Trainer& trainer() const { return *nb::inst_ptr<Trainer>(consumer_); }

  nb::object consumer_;
  std::uint64_t number_;
  std::optional<std::uint64_t> epoch_;
  bool inside_ = false;
  bool over_ = false;
};

// ---- what a consumer says

[[nodiscard]] nb::object group_of(const Trainer& trainer) {
  const Group& group = trainer.looked_at().group();
  if (group.world == 0) return nb::none();
  return values().attr("Group")(group.name, group.rank, group.world);
}

[[nodiscard]] nb::tuple schema_of(const Trainer& trainer) {
  const nb::object spec = values().attr("FieldSpec");
  nb::list specs;
  for (const FieldSpec& field : trainer.looked_at().schema()) {
    nb::list shape;
    if (field.on_axis()) shape.append(field.axis);
    for (const std::int64_t extent : field.shape) shape.append(extent);
    const std::string_view dtype = name_of(field.dtype);
    specs.append(spec(field.name, nb::str(dtype.data(), dtype.size()), nb::tuple(shape)));
  }
  return nb::tuple(specs);
}

[[nodiscard]] nb::object recipe_of(const Trainer& trainer) {
  const std::string recipe = trainer.looked_at().recipe_json();
  if (recipe.empty()) return nb::dict();
  return nb::module_::import_("json").attr("loads")(recipe);
}

/// None where the source names none.
[[nodiscard]] nb::object class_names_of(const Trainer& trainer) {
  const nb::object source = recipe_of(trainer).attr("get")("source", nb::dict());
  if (!nb::isinstance<nb::dict>(source)) return nb::none();
  const nb::object names = source.attr("get")("classes");
  return names.is_none() ? names : nb::tuple(names);
}

[[nodiscard]] nb::object stats_of(const Trainer& trainer) {
  const ConsumerStats stats = trainer.looked_at().stats();
  return values().attr("ConsumerStats")(
      stats.samples, stats.batches, stats.skipped, stats.waits, stats.wait_seconds,
      stats.attach_seconds, stats.late_wakeups, stats.epochs_matched, stats.epochs_mismatched,
      stats.epochs_unknown, stats.leases_held, stats.oversized, stats.dropped_rows,
      stats.rows.delivered, stats.rows.repeated, stats.rows.truncated, stats.rows.left_out);
}

[[nodiscard]] std::string text_of(const Trainer& trainer) {
  const std::string named = text("<batchcast.Consumer of stream `{}`", trainer.stream());
  if (trainer.is_closed()) return text("{}, closed>", named);
  try {
    const Consumer& consumer = trainer.looked_at();
    return text("{}: `{}`, epoch {}, position {}>", named, consumer.name(), trainer.epoch(),
                trainer.cursor());
  } catch (const Error&) {
    return named + ">";
  }
}

// ---- checkpoints

[[nodiscard]] nb::dict checkpoint_of(const Trainer& trainer) {
  const Checkpoint saved = batchcast::checkpoint_of(trainer.looked_at(), trainer.stream());
  nb::dict members;
  members["cursor"] = trainer.cursor();
  members["cursor_row"] = trainer.cursor_row();
  members["stream"] = saved.stream;
  members["recipe_json"] = saved.recipe_json;
  members["schema_json"] = saved.schema_json;
  members["samples_per_epoch"] = saved.samples_per_epoch;
  members["identity"] = saved.identity;
  members["incarnation"] = saved.incarnation;
  return members;
}

[[nodiscard]] Checkpoint checkpoint_in(const nb::object& members) {
  Checkpoint checkpoint;
  const nb::object get = members.attr("get");
  const auto text = [&](const char* name, std::string& to) {
    const nb::object value = get(name);
    if (!value.is_none()) to = Argument{name, value}.text();
  };
  const auto number = [&](const char* name, std::uint64_t& to) {
    const nb::object value = get(name);
    if (!value.is_none()) to = Argument{name, value}.number();
  };
  number("cursor", checkpoint.cursor);
  number("cursor_row", checkpoint.cursor_row);
  text("stream", checkpoint.stream);
  text("recipe_json", checkpoint.recipe_json);
  text("schema_json", checkpoint.schema_json);
  number("samples_per_epoch", checkpoint.samples_per_epoch);
  text("identity", checkpoint.identity);
  text("incarnation", checkpoint.incarnation);
  return checkpoint;
}

// ---- the class

int visit(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  Py_VISIT(nb::inst_ptr<Trainer>(self)->log());
  return 0;
}

int clear(PyObject* self) {
  if (nb::inst_ready(self)) nb::inst_ptr<Trainer>(self)->let_go_of_log();
  return 0;
}

PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(&visit)},
                       {Py_tp_clear, reinterpret_cast<void*>(&clear)},
                       {0, nullptr}};

[[nodiscard]] int timeout_of(const nb::object& timeout) {
  return Argument{"timeout", timeout}.timeout_ms();
}

void add_calls(nb::class_<Trainer>& type) {
  const options::Options& options = options::consumer_options().options();
  const std::string signature = text("def __init__(self, {}) -> None",
                                     options::python_parameters(options, consumer_by_place));
  type.def(
          "__init__",
          [](Trainer* self, const nb::args& args, const nb::kwargs& kwargs) {
            CalledOptions called = options_of(args, kwargs);
            new (self) Trainer(std::move(called.options), std::move(called.log));
          },
          nb::sig(signature.c_str()))
      .def(
          "next",
          [](Trainer& trainer, const nb::object& timeout) {
            return trainer.next(timeout_of(timeout));
          },
          nb::arg("timeout") = nb::none(),
          nb::sig("def next(self, timeout: float | None = None) -> Batch | None"),
          "The next batch; None at the end of an epoch, after which the next call begins another.\n"
          "Raises Timeout if none came within that many seconds.")
      .def(
          "_hold",
          [](Trainer& trainer) {
            const nb::object batch = trainer.hold(-1);
            return batch.is_valid() ? batch : nb::none();
          },
          nb::sig("def _hold(self) -> Batch | None"),
          "As `next`, but gives the same batch again until `_delivered` is set.")
      .def_prop_rw(
          "_delivered", [](const Trainer& trainer) { return !trainer.holds(); },
          [](Trainer& trainer, bool /*always*/) { trainer.deliver_held(); },
          "As that of a loop: set to True once the batch that `_hold` gave is passed on.")
      .def(
          "_peek",
          [](Trainer& trainer, const nb::object& timeout) {
            return trainer.peek(timeout_of(timeout));
          },
          nb::arg("timeout").none(), nb::sig("def _peek(self, timeout: float | None) -> Batch"),
          "The batch that `_hold` gave, while that is not delivered; else a copy of the next one,\n"
          "of the following epoch where this one has no more. Changes nothing.")
      .def("has_next_epoch", &Trainer::has_next_epoch,
           "Whether another epoch follows; waits until that is known.")
      .def("batches_of_epoch", &Trainer::batches_of_epoch,
           "How many batches the whole epoch has that the next batch belongs to; of a rank, its\n"
           "batches. None where the producer does not know: with a budget or a window, lengths.")
      .def("newest", &Trainer::newest, nb::arg("samples_max"),
           "A copy of the newest samples that the ring holds, at most `samples_max`; None while\n"
           "there are none. It leaves the consumer where it is.")
      .def("leave_epoch", &Trainer::leave_epoch, "Skips what is left of the current epoch.")
      .def(
          "_move_to",
          [](Trainer& trainer, const nb::object& cursor, const nb::object& row) {
            return trainer.move_to(
                {Argument{"cursor", cursor}.number(), Argument{"row", row}.number()});
          },
          nb::arg("cursor"), nb::arg("row") = 0,
          nb::sig("def _move_to(self, cursor: int, row: int = 0) -> bool"),
          "Moves to another position without leaving the stream. False, and it stays, where only "
          "a\n"
          "consumer that attaches again may have it. Raises Refused, StreamFinished: it stays, "
          "too.")
      .def("close", &Trainer::close,
           "Leaves the stream. Batches that are held stay good. A second call does nothing.")
      .def(
          "check", [](const Trainer& trainer) { trainer.looked_at().check(); },
          "Raises Revoked if the producer evicted this consumer, GroupBroken if that was for its\n"
          "group.")
      .def(
          "set_cuda_stream",
          [](Trainer& trainer, std::uintptr_t stream) {
            trainer.set_cuda_stream(reinterpret_cast<void*>(stream));
          },
          nb::arg("stream"),
          "The CUDA stream, by its number, on which batches are used from the next one on, for\n"
          "batches that are on a GPU or pinned.")
      .def(
          "__enter__", [](nb::handle self) { return nb::borrow(self); },
          nb::sig("def __enter__(self) -> Consumer"))
      .def(
          "__exit__", [](Trainer& trainer, const nb::args&) { trainer.close(); },
          nb::sig("def __exit__(self, *exception: object) -> None"))
      .def(
          "__iter__",
          [](const nb::object& self) {
            static_cast<void>(nb::cast<const Trainer&>(self));  // throws for one that is not made
            return new Loop(self);
          },
          nb::sig("def __iter__(self) -> collections.abc.Iterator[Batch]"))
      .def("checkpoint", &checkpoint_of, nb::sig("def checkpoint(self) -> dict[str, int | str]"),
           "Where it is, as plain values to store beside the model: to go on there, pass `cursor`\n"
           "and `cursor_row` with join=\"at\". See check_same_samples.")
      .def("__repr__", &text_of);
}

template <class Get>
void add_property(nb::class_<Trainer>& type, const char* name, Get get, const char* doc) {
  type.def_prop_ro(
      name, [get](const Trainer& trainer) { return (trainer.looked_at().*get)(); }, doc);
}

void add_properties(nb::class_<Trainer>& type) {
  type.def_prop_rw(
      "batch_size", [](const Trainer& trainer) { return trainer.looked_at().batch_size(); },
      [](Trainer& trainer, const nb::object& size) {
        trainer.set_batch_size(Argument{"batch_size", size}.number(~std::uint64_t{0}, 1));
      },
      nb::for_getter(nb::sig("def batch_size(self) -> int")),
      nb::for_setter(nb::sig("def batch_size(self, size: int, /) -> None")),
      "Samples in a batch; can be set, for the next batches.");
  type.def_prop_rw(
      "budget",
      [](const Trainer& trainer) -> nb::object {
        const Budget budget = trainer.looked_at().budget();
        if (!budget.is_set()) return nb::none();
        return nb::make_tuple(budget.axis, budget.rows);
      },
      [](Trainer& trainer, const nb::object& budget) {
        const Argument given{"budget", budget};
        if (given.is_none()) return trainer.set_budget({});
        const options::Option& option =
            *options::find(options::consumer_options().options(), "budget");
        ConsumerOptions asked;
        try {
          options::assign(option, &asked, given.value_of(option));
        } catch (const options::Refused& refused) {
          given.refuse(std::string(refused.what()) + ".");
        }
        trainer.set_budget(asked.budget);
      },
      nb::for_getter(nb::sig("def budget(self) -> tuple[str, int] | None")),
      nb::for_setter(nb::sig("def budget(self, budget: tuple[str, int] | str | None, /) -> None")),
      nb::for_setter(nb::arg("budget").none()),
      "The axis and the rows that a batch has at most; None without. Can be set, for the next\n"
      "batches.");
  type.def_prop_rw(
      "window",
      [](const Trainer& trainer) -> nb::object {
        const Window window = trainer.looked_at().window();
        if (!window.is_set()) return nb::none();
        return nb::make_tuple(window.axis, window.rows, window.runs);
      },
      [](Trainer& trainer, const nb::object& window) {
        const Argument given{"window", window};
        if (given.is_none()) return trainer.set_window({});
        const options::Option& option =
            *options::find(options::consumer_options().options(), "window");
        ConsumerOptions asked;
        asked.window.extra = trainer.looked_at().window().extra;
        try {
          options::assign(option, &asked, given.value_of(option));
        } catch (const options::Refused& refused) {
          given.refuse(std::string(refused.what()) + ".");
        }
        trainer.set_window(asked.window);
      },
      nb::for_getter(nb::sig("def window(self) -> tuple[str, int, int] | None")),
      nb::for_setter(
          nb::sig("def window(self, window: tuple[str, int, int] | str | None, /) -> None")),
      nb::for_setter(nb::arg("window").none()),
      "The axis, the rows of a run and the runs of a batch; None without. Can be set, for the\n"
      "next batches, which begin where the last one ended.");
  type.def_prop_ro("cursor_row", &Trainer::cursor_row,
                   "With a window: inside the sample at `cursor`, the row after the last one\n"
                   "delivered.");
  type.def_prop_ro("cursor", &Trainer::cursor,
                   "Position after the last sample delivered: what to save, for join=\"at\".")
      .def_prop_ro("epoch", &Trainer::epoch, "The epoch that the next batch belongs to.");
  add_property(type, "name", &Consumer::name, "Its name where consumers are listed.");
  add_property(type, "pure", &Consumer::pure,
               "Whether the stream's recipe determines every byte of its samples.");
  add_property(
      type, "identity", &Consumer::identity,
      "32 hexadecimal digits that a pure stream has in common only with those of the same\n"
      "samples at the same positions; empty without one.");
  add_property(type, "samples_per_epoch", &Consumer::samples_per_epoch,
               "Samples in an epoch; 0 where that is not known beforehand.");
  add_property(type, "cursors_per_epoch", &Consumer::cursors_per_epoch,
               "The same of all nodes, where the stream has the ranks of one (`--shard blocks`): "
               "so far\n"
               "are the cursors apart of two epochs' beginnings.");
  type.def_prop_ro("_job_world", [](const Trainer& trainer) {
    const Consumer& consumer = trainer.looked_at();
    const bool is_all = consumer.cursors_per_epoch() == consumer.samples_per_epoch();
    return is_all ? consumer.group().world : consumer.group().job_world;
  });
  add_property(type, "capacity", &Consumer::capacity,
               "Samples that the ring spans: no batch can be larger.");
  add_property(type, "notes", &Consumer::notes, "What the producer said on joining.");
  type.def_prop_ro(
          "placement",
          [](const Trainer& trainer) { return trainer.looked_at().placement().text(); },
          "Where its batches are: \"host\" or \"cuda:0\".")
      .def_prop_ro("stream", &Trainer::stream, "The name of its stream.")
      .def_prop_ro("closed", &Trainer::is_closed, "Whether `close` was called.")
      .def_prop_ro("group", &group_of, nb::sig("def group(self) -> batchcast.Group | None"),
                   "The group that it is a rank of, by its numbers where \"auto\" was asked for.")
      .def_prop_ro("schema", &schema_of,
                   nb::sig("def schema(self) -> tuple[batchcast.FieldSpec, ...]"),
                   "The stream's fields in order: name, dtype and shape of one sample. The shape "
                   "of a field\n"
                   "on an axis begins with the axis's name.")
      .def_prop_ro("recipe", &recipe_of, nb::sig("def recipe(self) -> dict[str, typing.Any]"),
                   "The stream's recipe; empty without one.")
      .def_prop_ro("class_names", &class_names_of,
                   nb::sig("def class_names(self) -> tuple[str, ...] | None"),
                   "What its labels stand for, as its source names them; None without names.")
      .def_prop_ro("stats", &stats_of, nb::sig("def stats(self) -> batchcast.ConsumerStats"),
                   "What it got so far, and how long it waited.");
}

}  // namespace

void add_consumer(nb::module_& module) {
  nb::class_<Loop>(module, "_Loop", "An epoch's batches.")
      .def("__iter__", [](nb::handle self) { return nb::borrow(self); })
      .def("__next__", nb::overload_cast<>(&Loop::next))
      .def(
          "next",
          [](Loop& loop, const nb::object& timeout) { return loop.next(timeout_of(timeout)); },
          nb::arg("timeout"), nb::sig("def next(self, timeout: float | None) -> Batch"))
      .def(
          "hold",
          [](Loop& loop, const nb::object& timeout) { return loop.hold(timeout_of(timeout)); },
          nb::arg("timeout").none(), nb::sig("def hold(self, timeout: float | None) -> Batch"),
          "As `next`, but gives the same batch again until `delivered` is set.")
      .def_prop_rw(
          "delivered", &Loop::is_delivered, &Loop::set_delivered,
          "Set to True once the batch that `hold` gave is passed on. An assignment, since\n"
          "signal handlers run after calls.")
      .def_prop_ro("over", &Loop::is_over, "Whether it gives no further batch.")
      .def_prop_ro("epoch", &Loop::epoch, nb::sig("def epoch(self) -> int | None"),
                   "The epoch of what `hold` gave; None before.");
  const options::Options& options = options::consumer_options().options();
  const std::string doc = about + options::python_doc(options);
  nb::class_<Trainer> type(module, "Consumer", nb::type_slots(slots), doc.c_str());
  add_calls(type);
  add_properties(type);
  module.def(
      "_option_names", [&options] { return options::names_of(options); },
      "The names of Consumer's arguments.");
}

void add_checkpoint(nb::module_& module) {
  module.def(
      "check_same_samples",
      [](const nb::object& saved, const nb::object& served, const nb::object& log) {
        LogCallback told;  // it must not throw
        std::string warning;
        if (!log.is_none()) told = [&](LogLevel, std::string_view text) { warning = text; };
        check_same_samples(checkpoint_in(saved), checkpoint_in(served), told);
        if (!warning.empty()) log("warning", warning);
      },
      nb::arg("saved"), nb::arg("served"), nb::arg("log") = nb::none(),
      nb::sig("def check_same_samples(saved: collections.abc.Mapping[str, typing.Any], served: "
              "collections.abc.Mapping[str, typing.Any], "
              "log: collections.abc.Callable[[str, str], object] | None = None) -> None"),
      "Raises RecipeMismatch unless both checkpoints (Consumer.checkpoint) are of streams with "
      "the\n"
      "same sample at each position. A stream that is not pure is known by its name, fields and\n"
      "epoch length alone: a warning goes to log where another producer serves it. Without log, "
      "to\n"
      "stderr.");
}

}  // namespace batchcast::inline v0_1::python
