// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/batch.hpp>
#include <batchcast/core/text.hpp>

#include "python/consumer/consumer_bindings.hpp"
#include "python/consumer/dlpack.hpp"
#include "python/consumer/field.hpp"
#include "python/consumer/numpy.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace nb = nanobind;

namespace batchcast::inline v0_1::python {
namespace {

constexpr const char* about =
    "Consecutive samples of one epoch: a read-only mapping of field names to numpy arrays.\n\n"
    "    images, labels = batch[\"image\"], batch[\"label\"]\n\n"
    "The arrays show the stream's memory, without a copy, and are read-only unless the batch is\n"
    "`writable`. The samples stay until the batch and every array, tensor and field made of it "
    "are\n"
    "gone, in any order, also after the consumer. Until then the producer cannot overwrite them.\n"
    "A field on a GPU is a Field, for torch.from_dlpack and CuPy. A field on an axis is a Ragged:\n"
    "the rows of all samples, and the offsets at which each sample's begin.";

/// Throws where it was released.
[[nodiscard]] const Batch& live(const Batch& batch) {
  if (!batch) {
    throw InvalidArgument("batchcast: this batch was released; its arrays, if any, live on.");
  }
  return batch;
}

[[nodiscard]] std::size_t fields_of(const Batch& batch) {
  return live(batch).fields().sample_id_index();
}

[[nodiscard]] bool has(const Batch& batch, const nb::handle& name) {
  if (!PyUnicode_Check(name.ptr())) return false;
  const std::string_view wanted = nb::cast<std::string_view>(name);
  for (std::size_t i = 0; i < fields_of(batch); ++i) {
    if (batch.fields()[i].spec.name == wanted) return true;
  }
  return false;
}

/// Turns the text of C++, which names the fields, into Python's error.
[[nodiscard]] std::size_t index_of(const Batch& batch, std::string_view name) {
  try {
    return live(batch).fields().index_of(name);
  } catch (const InvalidArgument& error) {
    if (!batch) throw;
    raise("UnknownField", error.what());
  }
}

/// A numpy array of int64, which Python owns.
[[nodiscard]] nb::object offsets_of(const Batch& batch, std::size_t field) {
  const auto offsets = batch.is_window() ? batch.offsets() : batch.rows<std::byte>(field).offsets();
  const nb::object array =
      nb::module_::import_("numpy").attr("empty")(offsets.size(), nb::str("int64"));
  Py_buffer buffer;
  if (PyObject_GetBuffer(array.ptr(), &buffer, PyBUF_WRITABLE) != 0) throw nb::python_error();
  std::memcpy(buffer.buf, offsets.data(), offsets.size_bytes());
  PyBuffer_Release(&buffer);
  return array;
}

/// Throws Forked, Revoked.
[[nodiscard]] nb::object value_of(const Batch& batch, std::size_t field) {
  batch.check();
  if (batch.fields()[field].on_device) return nb::cast(Field(batch, field));
  if (batch.fields()[field].axis >= 0) {
    const nb::object ragged = nb::module_::import_("batchcast._values").attr("Ragged");
    return ragged(array_of(batch, field), offsets_of(batch, field));
  }
  return array_of(batch, field);
}

[[nodiscard]] nb::object item(const Batch& batch, std::string_view name) {
  return value_of(batch, index_of(batch, name));
}

template <class Of>
[[nodiscard]] nb::list list_of(const Batch& batch, Of&& of) {
  nb::list list;
  for (std::size_t i = 0; i < fields_of(batch); ++i) list.append(of(i));
  return list;
}

[[nodiscard]] nb::list keys(const Batch& batch) {
  return list_of(batch,
                 [&](std::size_t i) { return nb::str(batch.fields()[i].spec.name.c_str()); });
}
[[nodiscard]] nb::list values(const Batch& batch) {
  return list_of(batch, [&](std::size_t i) { return value_of(batch, i); });
}
[[nodiscard]] nb::list items(const Batch& batch) {
  return list_of(batch, [&](std::size_t i) {
    return nb::make_tuple(batch.fields()[i].spec.name, value_of(batch, i));
  });
}

/// Capsules of those fields, from which Loader makes tensors.
[[nodiscard]] nb::tuple writable_capsules(const Batch& batch, const nb::tuple& fields,
                                          bool bools_as_bytes) {
  const Batch& from = live(batch);
  from.check();
  nb::object capsules = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(fields.size())));
  if (!capsules.is_valid()) throw nb::python_error();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const nb::handle field = fields[i];
    const std::size_t index = PyLong_Check(field.ptr())
                                  ? nb::cast<std::size_t>(field)
                                  : index_of(from, nb::cast<std::string_view>(field));
    if (index >= from.fields().size()) throw nb::index_error("batchcast: no such field");
    PyTuple_SET_ITEM(capsules.ptr(), static_cast<Py_ssize_t>(i),
                     writable_capsule_of(from, index, bools_as_bytes).release().ptr());
  }
  return nb::borrow<nb::tuple>(capsules);
}

void add_mapping(nb::class_<Batch>& type) {
  type.def("__getitem__", &item, nb::arg("name"),
           nb::sig("def __getitem__(self, name: str, /) -> typing.Any"))
      .def("__contains__", &has, nb::arg("name"),
           nb::sig("def __contains__(self, name: object, /) -> bool"))
      .def("__len__", &fields_of)
      .def(
          "__iter__", [](const Batch& batch) { return nb::iter(keys(batch)); },
          nb::sig("def __iter__(self) -> collections.abc.Iterator[str]"))
      .def("keys", &keys, nb::sig("def keys(self) -> list[str]"),
           "The names of its fields, without `sample_id`.")
      .def("values", &values, nb::sig("def values(self) -> list[typing.Any]"))
      .def("items", &items, nb::sig("def items(self) -> list[tuple[str, typing.Any]]"))
      .def(
          "get",
          [](const Batch& batch, const nb::object& name, const nb::object& otherwise) {
            return has(batch, name) ? item(batch, nb::cast<std::string_view>(name)) : otherwise;
          },
          nb::arg("name"), nb::arg("default") = nb::none(),
          nb::sig("def get(self, name: str, default: typing.Any = None) -> typing.Any"));
}

template <class Value>
void add_number(nb::class_<Batch>& type, const char* name, Value (Batch::*get)() const noexcept,
                const char* doc) {
  type.def_prop_ro(
      name, [get](const Batch& batch) { return (live(batch).*get)(); }, doc);
}

void add_properties(nb::class_<Batch>& type) {
  add_number(type, "size", &Batch::size, "Number of samples; with a window, of runs.");
  add_number(type, "position", &Batch::position, "Position of its first sample in the stream.");
  add_number(type, "row", &Batch::row,
             "With a window: the row of the sample at `position` that it begins with.");
  add_number(type, "epoch", &Batch::epoch, "The epoch that it belongs to.");
  add_number(
      type, "padding", &Batch::padding,
      "With tail=\"pad\": how many of its samples, the last ones, repeat others. With a window,\n"
      "rows.");
  add_number(
      type, "writable", &Batch::writable,
      "Whether its memory is private to this consumer, so that its arrays can be written to.");
  add_number(type, "keeps_writes", &Batch::keeps_writes,
             "Whether a write of this process into its host memory, by any code, stays with this\n"
             "process. Else such a write ends it.");
  type.def_prop_ro(
          "placement", [](const Batch& batch) { return live(batch).placement().text(); },
          "Where its fields are: \"host\" or \"cuda:0\".")
      .def_prop_ro(
          "sample_ids",
          [](const Batch& batch) {
            return value_of(live(batch), batch.fields().sample_id_index());
          },
          nb::sig("def sample_ids(self) -> numpy.typing.NDArray[numpy.uint64]"),
          "The dataset's index of each sample.");
}

}  // namespace

void add_batch(nb::module_& module) {
  nb::class_<Batch> type(module, "Batch", about);
  add_mapping(type);
  add_properties(type);
  type.def(
          "field",
          [](const Batch& batch, std::string_view name) {
            return Field(live(batch), index_of(batch, name));
          },
          nb::arg("name"), "The field of that name, for DLPack; `sample_id` is one as well.")
      .def(
          "offsets",
          [](const Batch& batch, std::optional<std::string_view> name) {
            if (!name && !live(batch).is_window()) {
              throw InvalidArgument(
                  "batchcast: offsets() of a batch that no window cuts needs the name of a field "
                  "on an axis.");
            }
            const std::size_t field = name ? index_of(batch, *name) : 0;
            live(batch).check();
            return offsets_of(batch, field);
          },
          nb::arg("name") = nb::none(),
          nb::sig("def offsets(self, name: str | None = None) -> "
                  "numpy.typing.NDArray[numpy.int64]"),
          "Of a field on an axis: sample i has the rows from offsets[i] to offsets[i + 1]. With a\n"
          "window, without a name: the same of its rows, run after run, without the extra ones. A\n"
          "copy.")
      .def(
          "use",
          [](const Batch& batch, std::uintptr_t stream) {
            live(batch).use(reinterpret_cast<void*>(stream));
          },
          nb::arg("stream"),
          "Names a further CUDA stream, by its number, that reads the batch: the samples are kept\n"
          "until that stream has come to the point where the last array was dropped.")
      .def(
          "check", [](const Batch& batch) { live(batch).check(); },
          "Raises Revoked if the producer evicted this consumer: the samples may have been\n"
          "overwritten.")
      .def(
          "release",
          [](Batch& batch) {
            if (batch) batch.release();
          },
          "Releases the samples now, as far as this object is concerned, and raises Revoked as\n"
          "`check` does. Arrays that were made of it keep them.")
      .def(
          "share", [](const Batch& batch) { return live(batch).share(); },
          "Another object for the same samples, which lives independently.")
      .def("_writable_capsules", &writable_capsules, nb::arg("fields"),
           nb::arg("bools_as_bytes") = false,
           nb::sig("def _writable_capsules(self, fields: tuple[int | str, ...], bools_as_bytes: "
                   "bool = False, /) -> tuple[typing.Any, ...]"))
      .def("__repr__", [](const Batch& batch) -> std::string {
        if (!batch) return "<batchcast.Batch, released>";
        std::string shown =
            text("<batchcast.Batch of {} samples from position {}", batch.size(), batch.position());
        for (std::size_t i = 0; i < batch.fields().sample_id_index(); ++i) {
          shown += (i == 0 ? ": " : ", ") + to_text(batch.fields()[i].spec);
        }
        return shown + ">";
      });
  nb::module_::import_("collections.abc").attr("Mapping").attr("register")(type);
}

}  // namespace batchcast::inline v0_1::python
