// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "python/consumer/field.hpp"

#include "python/consumer/consumer_bindings.hpp"
#include "python/consumer/dlpack.hpp"
#include "python/consumer/numpy.hpp"

#include <batchcast/consumer/host_copy.hpp>
#include <batchcast/core/text.hpp>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace nb = nanobind;

namespace batchcast::inline v0_1::python {
namespace {

constexpr const char* about =
    "One field of all samples of a batch, for all that take arrays: numpy, torch, JAX, CuPy.\n\n"
    "It speaks DLPack (`torch.from_dlpack(field)`) and numpy's and CUDA's array interfaces, all\n"
    "without a copy. What is made of it keeps the batch's samples until the last array is gone.";

[[noreturn]] void refuse(const std::string& why) {
  throw nb::buffer_error(text("batchcast: {}", why).c_str());
}

[[noreturn]] void no_attribute(const char* name, const char* why) {
  throw nb::attribute_error(text("batchcast: {}: {}", name, why).c_str());
}

// ---- what it is

[[nodiscard]] nb::tuple shape_of(const Field& field) {
  nb::list shape;
  shape.append(field.batch().extent(field.index()));
  for (const std::int64_t extent : field.info().spec.shape) shape.append(extent);
  return nb::tuple(shape);
}

[[nodiscard]] nb::object strides_of(const Field& field) {
  const Layout layout = layout_of(field.batch(), field.index());
  if (layout.contiguous()) return nb::none();
  const auto& shape = layout.info.spec.shape;
  nb::list strides;
  std::size_t stride = layout.info.sample_bytes;
  strides.append(layout.stride_bytes);
  for (const std::int64_t extent : shape) {
    stride /= static_cast<std::size_t>(extent);
    strides.append(stride);
  }
  return nb::tuple(strides);
}

[[nodiscard]] nb::object host_array_of(const Field& field) {
  field.batch().check();
  if (!field.info().on_device) return array_of(field.batch(), field.index());
  throw nb::type_error(
      text("batchcast: field `{}` of this batch is in the memory of a GPU, and numpy reads host "
           "memory. Take it with CuPy or torch, by from_dlpack(), or copy it with "
           "numpy.from_dlpack(field, device=\"cpu\").",
           field.info().spec.name)
          .c_str());
}

/// A dictionary of numpy's array interface, or of CUDA's, which is alike.
[[nodiscard]] nb::dict interface_of(const Field& field, int version) {
  field.batch().check();
  const Layout layout = layout_of(field.batch(), field.index());
  nb::dict members;
  members["shape"] = shape_of(field);
  members["typestr"] = numpy_type(layout.info.spec).attr("str");
  members["data"] =
      nb::make_tuple(reinterpret_cast<std::uintptr_t>(layout.data), !field.batch().writable());
  members["strides"] = strides_of(field);
  members["version"] = version;
  return members;
}

[[nodiscard]] nb::dict array_interface(const Field& field) {
  if (field.info().on_device) no_attribute("__array_interface__", "the field is on a GPU");
  if (field.info().spec.dtype == DType::bf16) {
    no_attribute("__array_interface__", "it has no name for bf16");
  }
  return interface_of(field, 3);
}

[[nodiscard]] nb::dict cuda_array_interface(const Field& field) {
  if (!field.info().on_device) {
    no_attribute("__cuda_array_interface__", "the field is in host memory");
  }
  if (field.info().spec.dtype == DType::bf16) {
    no_attribute("__cuda_array_interface__", "it has no name for bf16");
  }
  // The consumer of the capsule makes its stream wait for this one: samples are complete on it.
  nb::dict members = interface_of(field, 3);
  members["stream"] = 1;
  field.batch().use(reinterpret_cast<void*>(std::uintptr_t{1}));
  return members;
}

[[nodiscard]] nb::object array(const Field& field, const nb::object& dtype,
                               std::optional<bool> copy) {
  const nb::object whole = host_array_of(field);
  const bool converts = !dtype.is_none() && !dtype.equal(whole.attr("dtype"));
  if (converts && copy == false) {
    throw nb::value_error("batchcast: another dtype takes a copy, and copy is False.");
  }
  if (converts) return whole.attr("astype")(dtype);
  return copy == true ? whole.attr("copy")() : whole;
}

// ---- DLPack

/// The device and stream numbers of DLPack's Python side.
void use_stream(const Field& field, const nb::object& stream) {
  if (!field.info().on_device) {
    if (!stream.is_none()) refuse("a field in host memory has no stream: leave `stream` out.");
    return;
  }
  std::int64_t number = 1;  // the legacy default stream
  if (!stream.is_none() && !nb::try_cast<std::int64_t>(stream, number)) {
    refuse("`stream` has to be a stream's number.");
  }
  if (number == 0 || number < -1) {
    refuse(
        text("`stream` is {}, which CUDA leaves open: 1 is the legacy default stream, 2 that of "
             "the thread.",
             number));
  }
  if (number != -1) field.batch().use(reinterpret_cast<void*>(static_cast<std::intptr_t>(number)));
}

[[nodiscard]] bool is_versioned(const nb::object& max_version) {
  if (max_version.is_none()) return false;
  std::pair<int, int> version;
  const nb::object major = max_version[0];
  if (!nb::try_cast<int>(major, version.first)) refuse("`max_version` has to be (major, minor).");
  return version.first >= 1;
}

[[nodiscard]] nb::object dlpack(const Field& field, const nb::object& stream,
                                const nb::object& max_version, const nb::object& dl_device,
                                std::optional<bool> copy) {
  field.batch().check();
  const DlDevice here = device_of(field.batch(), field.index());
  DlDevice wanted = here;
  if (!dl_device.is_none()) {
    wanted = {nb::cast<std::int32_t>(dl_device[0]), nb::cast<std::int32_t>(dl_device[1])};
  }
  const bool versioned = is_versioned(max_version);
  if (wanted == here) {
    if (copy == true && here.type != dl_cpu) {
      refuse("the library that takes the field copies it on a GPU, or access=\"private\" does.");
    }
    use_stream(field, stream);
    return capsule_of(field.batch(), field.index(), {versioned, copy == true});
  }
  if (wanted.type != dl_cpu) {
    refuse(text("field `{}` is not on the device asked for, but on ({}, {}).",
                field.info().spec.name, here.type, here.id));
  }
  if (copy == false) refuse("the field is on a GPU: host memory takes a copy, and copy is False.");
  if (!stream.is_none()) refuse("host memory has no stream: leave `stream` out.");
  const Batch on_host = detail::copy_to_host(field.batch());
  return capsule_of(on_host, field.index(), {versioned, false});
}

}  // namespace

void add_field(nb::module_& module) {
  add_numpy(module);
  nb::class_<Field>(module, "Field", about)
      .def_prop_ro(
          "name", [](const Field& field) { return field.info().spec.name; }, "Its name.")
      .def_prop_ro(
          "dtype", [](const Field& field) { return numpy_type(field.info().spec); },
          nb::sig("def dtype(self) -> numpy.dtype[typing.Any]"), "The type of its elements.")
      .def_prop_ro("shape", &shape_of, nb::sig("def shape(self) -> tuple[int, ...]"),
                   "The number of samples, or of rows on an axis, then the shape of one.")
      .def("__len__", [](const Field& field) { return field.batch().extent(field.index()); })
      .def_prop_ro("__array_interface__", &array_interface,
                   nb::sig("def __array_interface__(self) -> dict[str, typing.Any]"))
      .def_prop_ro("__cuda_array_interface__", &cuda_array_interface,
                   nb::sig("def __cuda_array_interface__(self) -> dict[str, typing.Any]"))
      .def("__array__", &array, nb::arg("dtype") = nb::none(), nb::arg("copy") = nb::none(),
           nb::sig("def __array__(self, dtype: numpy.typing.DTypeLike | None = None, copy: bool | "
                   "None = None) -> numpy.typing.NDArray[typing.Any]"))
      .def(
          "__dlpack_device__",
          [](const Field& field) {
            const DlDevice device = device_of(field.batch(), field.index());
            return nb::make_tuple(device.type, device.id);
          },
          nb::sig("def __dlpack_device__(self) -> tuple[int, int]"))
      .def("__dlpack__", &dlpack, nb::kw_only(), nb::arg("stream") = nb::none(),
           nb::arg("max_version") = nb::none(), nb::arg("dl_device") = nb::none(),
           nb::arg("copy") = nb::none(),
           nb::sig("def __dlpack__(self, *, stream: typing.Any = None, max_version: tuple[int, "
                   "int] | None = None, dl_device: tuple[int, int] | None = None, copy: bool | "
                   "None = None) -> typing.Any"),
           "A capsule over the field's memory. With a max_version of 1 or above it says whether\n"
           "that is read-only; the older kind cannot.")
      .def(
          "_writable_capsule",
          [](const Field& field) { return writable_capsule_of(field.batch(), field.index()); },
          nb::sig("def _writable_capsule(self) -> typing.Any"))
      .def("__repr__", [](const Field& field) {
        return text("<batchcast.Field {}, {} samples>", to_text(field.info().spec),
                    field.batch().size());
      });
}

}  // namespace batchcast::inline v0_1::python
