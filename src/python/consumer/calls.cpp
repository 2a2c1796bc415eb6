// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "python/consumer/calls.hpp"

#include <batchcast/core/clock.hpp>
#include <batchcast/core/error.hpp>

namespace nb = nanobind;

namespace batchcast::inline v0_1::python {
namespace {

constexpr std::uint64_t collect_after_ns = 2'000'000'000;
constexpr std::uint64_t collect_again_after_ns = 60'000'000'000;

[[nodiscard]] const char* name_of(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::debug:
      return "debug";
    case LogLevel::info:
      return "info";
    case LogLevel::warning:
      return "warning";
    default:
      return "error";
  }
}

}  // namespace

void Calls::while_waiting() {
  const WithGil with_gil;
  hand_on_lines();
  throw_raised();
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
  collect_garbage();
}

/// A loop that an exception has left may be garbage that holds the stream up: its frame is in a
/// cycle with the exception. A process whose threads wait makes no further garbage, so that the
/// collector does not run by itself.
void Calls::collect_garbage() noexcept {
  const std::uint64_t now = now_ns();
  if (now - began_ns_ < collect_after_ns || now < collect_next_ns_) return;
  PyGC_Collect();
  collect_next_ns_ = now_ns() + collect_again_after_ns;
}

void Calls::report(LogLevel level, std::string_view text) noexcept {
  if (thread_.load() == PyThread_get_thread_ident()) {
    const WithGil with_gil;
    hand_on_lines();
    hand_on(level, text);
    return;
  }
  const std::lock_guard lock(mutex_);
  lines_.emplace_back(level, text);
  has_lines_ = true;
}

/// Hands on the lines of other threads.
void Calls::hand_on_all_lines() noexcept {
  std::vector<std::pair<LogLevel, std::string>> lines;
  {
    const std::lock_guard lock(mutex_);
    lines.swap(lines_);
    has_lines_ = false;
  }
  for (const auto& [level, text] : lines) hand_on(level, text);
}

void Calls::hand_on(LogLevel level, std::string_view text) noexcept {
  if (log_ == nullptr) return;
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  const nb::object callable = nb::borrow(log_);
  const nb::object said =
      nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
  const nb::object level_name = nb::steal(PyUnicode_FromString(name_of(level)));
  const nb::object result = nb::steal(in_python([&] {
    return PyObject_CallFunctionObjArgs(callable.ptr(), level_name.ptr(), said.ptr(), nullptr);
  }));
  if (!result.is_valid() && PyErr_ExceptionMatches(PyExc_Exception) == 0) {
    raised_ = std::make_exception_ptr(nb::python_error());
  } else if (!result.is_valid()) {
    in_python([&] { PyErr_WriteUnraisable(callable.ptr()); });
  }
  PyErr_Restore(type, value, trace);
}

void Calls::throw_raised() {
  if (raised_) std::rethrow_exception(std::exchange(raised_, nullptr));
}

void Calls::throw_busy() const {
  if (thread_.load() == PyThread_get_thread_ident()) {
    throw InvalidArgument(
        "batchcast: this consumer is in the middle of a call, which has called this code (a signal "
        "handler, or `log`): here it can only be looked at.");
  }
  throw InvalidArgument(
      "batchcast: another thread is in a call of this consumer. One thread at a time uses a "
      "consumer: give each thread a consumer; a process can have several.");
}

}  // namespace batchcast::inline v0_1::python
