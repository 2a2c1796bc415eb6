// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <nanobind/nanobind.h>

namespace batchcast::inline v0_1::python {

/// Past this point a thread that asks for the GIL is ended by Python.
[[nodiscard]] bool interpreter_ends() noexcept;

/// Holds the GIL on any thread. A thread of C++ keeps its Python thread state until it ends: what a
/// dataset has in threading.local, such as open files, is there at the next sample too.
class GilHeld {
 public:
  GilHeld();
  ~GilHeld() { PyGILState_Release(state_); }
  GilHeld(const GilHeld&) = delete;
  GilHeld& operator=(const GilHeld&) = delete;

 private:
  PyGILState_STATE state_;
};

}  // namespace batchcast::inline v0_1::python
