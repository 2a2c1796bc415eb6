// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "python/producer/gil.hpp"

namespace nb = nanobind;

namespace batchcast::inline v0_1::python {
namespace {

/// A thread's Python thread state, if this made it.
class KeptThreadState {
 public:
  KeptThreadState() {
    if (PyGILState_GetThisThreadState() != nullptr) return;
    if (!may_take_gil()) sleep_for_good();
    state_ = in_python([] { return PyGILState_Ensure(); });
    has_gil();
    thread_ = PyEval_SaveThread();
  }
  /// As the interpreter ends, it is left: the main thread may wait for this thread's end.
  ~KeptThreadState() {
    if (thread_ == nullptr || interpreter_ends() || !may_take_gil()) return;
    in_python([this] { PyEval_RestoreThread(thread_); });
    has_gil();
    in_python([this] { PyGILState_Release(state_); });
  }
  KeptThreadState(const KeptThreadState&) = delete;
  KeptThreadState& operator=(const KeptThreadState&) = delete;

 private:
  PyGILState_STATE state_{};
  PyThreadState* thread_ = nullptr;
};

}  // namespace

GilHeld::GilHeld() {
  static thread_local const KeptThreadState kept;
  gil_.emplace();
}

std::string shown(nb::handle value) {
  const Held text(in_python([&] { return PyObject_Str(value.ptr()); }));
  const Held encoded(PyUnicode_AsEncodedString(text.get(), "utf-8", "backslashreplace"));
  std::string plain;
  for (Py_ssize_t i = 0; i < PyBytes_Size(encoded.get()); ++i) {
    const char letter = PyBytes_AsString(encoded.get())[i];
    if (letter == '\0') plain += "\\x00";
    if (letter != '\0') plain += letter;
  }
  return plain;
}

}  // namespace batchcast::inline v0_1::python
