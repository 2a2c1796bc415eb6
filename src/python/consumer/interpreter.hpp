// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <nanobind/nanobind.h>

#include <exception>

// Leaving the interpreter to wait, and coming back. Python ends a thread that wants to come back
// while the interpreter ends, in the middle of C++; here such a thread sleeps until the process is
// gone.
namespace batchcast::inline v0_1::python {

/// Lets go of the GIL. Null where the interpreter is ending and this thread ends it: no other needs
/// the GIL then.
[[nodiscard]] PyThreadState* leave_interpreter() noexcept;
void come_back(PyThreadState* left) noexcept;

/// Runs `work` without the GIL. What it throws is thrown with the GIL.
template <class Work>
void without_gil(Work&& work) {
  std::exception_ptr thrown;
  PyThreadState* const left = leave_interpreter();
  try {
    work();
  } catch (...) {
    thrown = std::current_exception();
  }
  come_back(left);
  if (thrown) std::rethrow_exception(thrown);
}

[[noreturn]] void sleep_for_good() noexcept;

/// With the GIL: runs code that Python may leave and come back to by itself, by calls of its C API
/// and nothing else. Python ends a thread that comes back too late by pthread_exit, which unwinds
/// it, through C++ that must not be; here it sleeps instead.
template <class Work>
auto in_python(Work&& work) noexcept {
  try {
    return work();
  } catch (...) {  // no exception: the C API throws none
    sleep_for_good();
  }
}

/// With the GIL, on a thread that may have it or not.
class WithGil {
 public:
  WithGil() noexcept;
  ~WithGil() { PyGILState_Release(state_); }
  WithGil(const WithGil&) = delete;
  WithGil& operator=(const WithGil&) = delete;

 private:
  PyGILState_STATE state_;
};

}  // namespace batchcast::inline v0_1::python
