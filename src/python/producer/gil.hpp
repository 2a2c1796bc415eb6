// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "python/consumer/interpreter.hpp"

#include <nanobind/nanobind.h>

#include <optional>
#include <string>
#include <utility>

namespace batchcast::inline v0_1::python {

/// Holds the GIL on any thread. A thread of C++ keeps its Python thread state until it ends. What a
/// dataset has in threading.local, such as open files, is there at the next sample too. While the
/// interpreter ends, a thread that wants the GIL sleeps until the process is gone.
class GilHeld {
 public:
  GilHeld();
  GilHeld(const GilHeld&) = delete;
  GilHeld& operator=(const GilHeld&) = delete;

 private:
  std::optional<WithGil> gil_;
};

/// A reference that a thread with the GIL releases, as Python may run any code then.
class Held {
 public:
  /// Takes what the C API gave. Throws what that raised.
  explicit Held(PyObject* made) : object_(made) {
    if (made == nullptr) throw nanobind::python_error();
  }
  Held(Held&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Held& operator=(Held&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Held() {
    in_python([this] { Py_XDECREF(object_); });
  }
  [[nodiscard]] PyObject* get() const noexcept { return object_; }

 private:
  PyObject* object_;
};

/// A callable's result.
template <class... Arguments>
[[nodiscard]] Held call(nanobind::handle callable, const Arguments&... arguments) {
  return Held(in_python(
      [&] { return PyObject_CallFunctionObjArgs(callable.ptr(), arguments..., nullptr); }));
}

/// What str() says of it, for messages: without a NUL and without what has no UTF-8. With the GIL.
[[nodiscard]] std::string shown(nanobind::handle value);

}  // namespace batchcast::inline v0_1::python
