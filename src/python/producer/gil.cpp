// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "python/producer/gil.hpp"

#include <batchcast/core/error.hpp>

namespace batchcast::inline v0_1::python {
namespace {

/// A thread's Python thread state, if this made it.
class KeptThreadState {
 public:
  KeptThreadState() {
    if (PyGILState_GetThisThreadState() != nullptr) return;
    state_ = PyGILState_Ensure();
    thread_ = PyEval_SaveThread();
  }
  ~KeptThreadState() {
    if (thread_ == nullptr || interpreter_ends()) return;
    PyEval_RestoreThread(thread_);
    PyGILState_Release(state_);
  }
  KeptThreadState(const KeptThreadState&) = delete;
  KeptThreadState& operator=(const KeptThreadState&) = delete;

 private:
  PyGILState_STATE state_{};
  PyThreadState* thread_ = nullptr;
};

}  // namespace

bool interpreter_ends() noexcept {
#if PY_VERSION_HEX >= 0x030d0000
  return Py_IsInitialized() == 0 || Py_IsFinalizing() != 0;
#else
  return Py_IsInitialized() == 0 || _Py_IsFinalizing() != 0;
#endif
}

GilHeld::GilHeld() {
  if (interpreter_ends()) throw BadSample("Python is ending, so nothing can be read with it");
  static thread_local const KeptThreadState kept;
  state_ = PyGILState_Ensure();
}

}  // namespace batchcast::inline v0_1::python
