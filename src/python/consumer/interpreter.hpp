// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <nanobind/nanobind.h>

// Leaving the interpreter to wait, and coming back. If a thread wants to come back while the
// interpreter ends, Python ends the thread, in the middle of C++. Here it sleeps until the process
// is gone.
namespace batchcast::inline v0_1::python {

/// Releases the GIL. Null where the interpreter is ending and this thread ends it: no other thread
/// needs the GIL then.
[[nodiscard]] PyThreadState* leave_interpreter() noexcept;
void come_back(PyThreadState* left) noexcept;

/// Releases the GIL while it exists.
class WithoutGil {
 public:
  WithoutGil() noexcept : left_(leave_interpreter()) {}
  ~WithoutGil() { come_back(left_); }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* left_;
};

/// Runs `work` without the GIL. What it throws is thrown with the GIL.
template <class Work>
void without_gil(Work&& work) {
  const WithoutGil released;
  work();
}

[[noreturn]] void sleep_for_good() noexcept;

/// With the GIL: runs code that Python may leave and come back to by itself, by calls of its C API
/// and nothing else. Python ends a thread that comes back too late by pthread_exit. That would
/// unwind C++ that must not be unwound, so here the thread sleeps instead.
template <class Work>
auto in_python(Work&& work) noexcept {
  try {
    return work();
  } catch (...) {  // no exception: the C API throws none
    sleep_for_good();
  }
}

/// Announces a thread that is about to take the GIL; `has_gil` follows once it has it. False where
/// another thread ends the interpreter: the GIL must not be taken any more.
[[nodiscard]] bool may_take_gil() noexcept;
void has_gil() noexcept;

/// Whether another thread ends the interpreter, or it has ended.
[[nodiscard]] bool interpreter_ends() noexcept;

/// Holds the GIL, on a thread that may have it or not.
class WithGil {
 public:
  WithGil() noexcept;
  ~WithGil() {
    in_python([this] { PyGILState_Release(state_); });
  }
  WithGil(const WithGil&) = delete;
  WithGil& operator=(const WithGil&) = delete;

 private:
  PyGILState_STATE state_;
};

}  // namespace batchcast::inline v0_1::python
