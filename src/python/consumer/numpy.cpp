// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "python/consumer/numpy.hpp"

#include "python/consumer/tensor_layout.hpp"

#include <batchcast/core/error.hpp>

#include <array>
#include <string>

namespace nb = nanobind;

namespace batchcast::inline v0_1::python {
namespace {

// Found once, and never released: arrays are made until the interpreter ends.
PyObject* ndarray = nullptr;
PyTypeObject* memory_type = nullptr;
std::array<PyObject*, dtype_names.size()> types{};

/// The memory of an array: bytes of a batch, which it keeps.
struct Memory {
  PyObject_HEAD Batch batch;
  void* data;
  Py_ssize_t bytes;
};

void destroy_memory(PyObject* self) {
  reinterpret_cast<Memory*>(self)->batch.~Batch();
  PyTypeObject* const type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

int show_memory(PyObject* self, Py_buffer* view, int flags) {
  const Memory& memory = *reinterpret_cast<Memory*>(self);
  const int read_only = memory.batch.writable() ? 0 : 1;
  return PyBuffer_FillInfo(view, self, memory.data, memory.bytes, read_only, flags);
}

void make_memory_type(nb::module_& module) {
  static std::array<PyType_Slot, 4> slots = {{
      {Py_tp_dealloc, reinterpret_cast<void*>(&destroy_memory)},
      {Py_bf_getbuffer, reinterpret_cast<void*>(&show_memory)},
      {Py_tp_doc, const_cast<char*>("Memory of a batch, under a numpy array.")},
      {0, nullptr},
  }};
  static PyType_Spec spec = {"batchcast._consumer._Memory", sizeof(Memory), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots.data()};
  memory_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (memory_type == nullptr) throw nb::python_error();
  module.attr("_Memory") = nb::handle(reinterpret_cast<PyObject*>(memory_type));
}

[[nodiscard]] nb::object memory_of(const Batch& batch, const Layout& layout) {
  PyObject* const self = memory_type->tp_alloc(memory_type, 0);
  if (self == nullptr) throw nb::python_error();
  auto* const memory = reinterpret_cast<Memory*>(self);
  new (&memory->batch) Batch(batch.share());
  memory->data = layout.data;
  memory->bytes = static_cast<Py_ssize_t>(layout.extent_bytes());
  return nb::steal(self);
}

[[nodiscard]] PyObject* found_type(DType dtype) {
  constexpr std::array<const char*, dtype_names.size()> names = {
      "uint8",  "int8",    "int16",    "int32",   "int64",   "uint16", "uint32",
      "uint64", "float16", "bfloat16", "float32", "float64", "bool"};
  const char* const name = names[static_cast<std::size_t>(dtype)];
  const nb::object numpy = nb::module_::import_("numpy");
  if (dtype != DType::bf16) return numpy.attr("dtype")(name).release().ptr();
  try {
    const nb::object type = nb::module_::import_("ml_dtypes").attr(name);
    return numpy.attr("dtype")(type).release().ptr();
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_ImportError)) throw;
    return nullptr;
  }
}

[[nodiscard]] nb::object tuple_of(std::size_t first, const std::vector<std::int64_t>& rest,
                                  std::size_t unit) {
  nb::object tuple = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(rest.size()) + 1));
  if (!tuple.is_valid()) throw nb::python_error();
  PyTuple_SET_ITEM(tuple.ptr(), 0, PyLong_FromSize_t(first));
  std::int64_t number = static_cast<std::int64_t>(unit);
  for (std::size_t i = rest.size(); i > 0; --i) {
    PyTuple_SET_ITEM(tuple.ptr(), static_cast<Py_ssize_t>(i),
                     PyLong_FromLongLong(unit == 0 ? rest[i - 1] : number));
    number *= rest[i - 1];
  }
  return tuple;
}

}  // namespace

void add_numpy(nb::module_& module) {
  const nb::object type = nb::module_::import_("numpy").attr("ndarray");
  ndarray = nb::object(type).release().ptr();
  make_memory_type(module);
}

nb::object numpy_type(const FieldSpec& field) {
  PyObject*& type = types[static_cast<std::size_t>(field.dtype)];
  if (type == nullptr) type = found_type(field.dtype);
  if (type != nullptr) return nb::borrow(type);
  throw InvalidArgument(
      text("batchcast: field `{}` is bf16, a type that numpy itself does not have. Install "
           "ml_dtypes (`pip install ml_dtypes`), or take it by DLPack, as in "
           "torch.from_dlpack(batch.field(\"{}\")).",
           field.name, field.name));
}

nb::object array_of(const Batch& batch, std::size_t field) {
  const Layout layout = layout_of(batch, field);
  const FieldSpec& spec = layout.info.spec;
  const nb::object type = numpy_type(spec);
  const nb::object memory = memory_of(batch, layout);
  const nb::object shape = tuple_of(layout.samples, spec.shape, 0);
  const nb::object strides = layout.contiguous()
                                 ? nb::none()
                                 : tuple_of(layout.stride_bytes, spec.shape, size_of(spec.dtype));
  const nb::int_ offset(0);
  const std::array<PyObject*, 5> arguments = {shape.ptr(), type.ptr(), memory.ptr(), offset.ptr(),
                                              strides.ptr()};
  PyObject* const array = PyObject_Vectorcall(ndarray, arguments.data(), arguments.size(), nullptr);
  if (array == nullptr) throw nb::python_error();
  return nb::steal(array);
}

}  // namespace batchcast::inline v0_1::python
