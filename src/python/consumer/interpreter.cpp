// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "python/consumer/interpreter.hpp"

#include "python/consumer/consumer_bindings.hpp"

#include <batchcast/core/process_end.hpp>

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace nb = nanobind;

namespace batchcast::inline v0_1::python {
namespace {

struct Ending {
  std::atomic<bool> begun{false};
  std::atomic<pthread_t> thread{};  ///< that ends the interpreter
  std::atomic<int> coming_back{0};  ///< threads that want the GIL, from before it began
};
constinit Ending ending;

/// Announces this thread, or keeps it out.
void want_gil() noexcept {
  if (!may_take_gil()) sleep_for_good();
}

/// At exit, while other threads can still have the GIL: lets those in that wait for it. They leave
/// again to wait, and then stay away.
void begin_to_end() {
  constexpr auto look_every = std::chrono::microseconds(100);
  constexpr int looks_max = 10'000;  // a thread that keeps the GIL keeps all from ending
  ending.thread.store(::pthread_self());
  ending.begun.store(true);
  detail::note_process_end();
  PyThreadState* const left = PyEval_SaveThread();
  for (int i = 0; i < looks_max && ending.coming_back.load() != 0; ++i) {
    std::this_thread::sleep_for(look_every);
  }
  PyEval_RestoreThread(left);
}

}  // namespace

void sleep_for_good() noexcept {
  for (;;) ::pause();
}

bool may_take_gil() noexcept {
  ending.coming_back.fetch_add(1);
  if (!ending.begun.load() || ending.thread.load() == ::pthread_self()) return true;
  ending.coming_back.fetch_sub(1);
  return false;
}

void has_gil() noexcept { ending.coming_back.fetch_sub(1); }

bool interpreter_ends() noexcept {
  if (ending.begun.load() && ending.thread.load() != ::pthread_self()) return true;
#if PY_VERSION_HEX >= 0x030d0000
  return Py_IsInitialized() == 0 || Py_IsFinalizing() != 0;
#else
  return Py_IsInitialized() == 0 || _Py_IsFinalizing() != 0;
#endif
}

PyThreadState* leave_interpreter() noexcept {
  if (ending.begun.load() && ending.thread.load() == ::pthread_self()) return nullptr;
  return PyEval_SaveThread();
}

void come_back(PyThreadState* left) noexcept {
  if (left == nullptr) return;
  want_gil();
  in_python([left] { PyEval_RestoreThread(left); });
  has_gil();
}

WithGil::WithGil() noexcept {
  want_gil();
  state_ = in_python([] { return PyGILState_Ensure(); });
  has_gil();
}

void add_interpreter(nb::module_& /*module*/) {
  // Threads of the parent do not come back in a child, which would wait for them as it ends.
  ::pthread_atfork(nullptr, nullptr, [] { ending.coming_back.store(0); });
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&begin_to_end));
}

}  // namespace batchcast::inline v0_1::python
