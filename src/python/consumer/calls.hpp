// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "python/consumer/interpreter.hpp"

#include <batchcast/core/clock.hpp>
#include <batchcast/core/log.hpp>

#include <nanobind/nanobind.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace batchcast::inline v0_1::python {

/// How a consumer's calls meet Python while they wait. Signals (Ctrl-C) end them, and the library's
/// reports go to the trainer's `log`. Lines from the library's threads wait for the consumer's next
/// call, so that none of these threads ever waits for the GIL. It may outlive the interpreter, as
/// batches do.
class Calls {
 public:
  Calls() = default;
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;

  /// Both need the GIL. `let_go` releases the callable.
  void set_log(nanobind::object callable) { log_ = callable.release().ptr(); }
  void let_go() noexcept { Py_CLEAR(log_); }
  [[nodiscard]] PyObject* log() const noexcept { return log_; }

  /// Runs a call that may wait: without the GIL, one thread at a time. Throws InvalidArgument where
  /// another thread is in such a call.
  template <class Work>
  void run(Work&& work) {
    run_to_its_end(std::forward<Work>(work));
    throw_raised();
  }
  /// The same, but leaves what `log` raised for `throw_raised`: what the call gave is not lost.
  template <class Work>
  void run_to_its_end(Work&& work) {
    const Turn turn(*this);
    try {
      without_gil(std::forward<Work>(work));
    } catch (...) {
      hand_on_lines();
      throw;
    }
    hand_on_lines();
  }
  /// Runs the call of a destructor, which throws nothing, where no thread is in a call.
  template <class Work>
  void run_in_destructor(Work&& work) {
    const Turn turn(*this);
    without_gil(std::forward<Work>(work));
  }
  /// Call it with the GIL. Throws what `log` raised to end a call, such as KeyboardInterrupt.
  void throw_raised();

  /// For a call that waits for nothing, with the GIL. `log` and signal handlers may make it too.
  void check_free_to_look() const {
    if (is_busy() && thread_.load() != PyThread_get_thread_ident()) throw_busy();
  }
  /// The same for a call that changes something.
  void check_free() const {
    if (is_busy()) throw_busy();
  }
  [[nodiscard]] bool is_busy() const noexcept { return thread_.load() != 0; }

  /// Call it with the GIL. Hands on what is reported outside of `run`.
  void hand_on_lines() noexcept {
    if (has_lines_.load(std::memory_order_relaxed)) hand_on_all_lines();
  }

  /// For ConsumerOptions. Called in `run`, without the GIL.
  void while_waiting();
  void report(LogLevel level, std::string_view text) noexcept;

 private:
  struct Turn {
    explicit Turn(Calls& its_calls) : calls(its_calls) {
      calls.check_free();
      calls.thread_.store(PyThread_get_thread_ident());
      calls.began_ns_ = now_ns();
    }
    ~Turn() { calls.thread_.store(0); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    Calls& calls;
  };

  void collect_garbage() noexcept;
  void hand_on_all_lines() noexcept;
  void hand_on(LogLevel level, std::string_view text) noexcept;
  [[noreturn]] void throw_busy() const;

  PyObject* log_ = nullptr;
  std::atomic<unsigned long> thread_{0};  ///< that is in `run`
  std::exception_ptr raised_;             ///< by `log`, to end the call: KeyboardInterrupt
  std::uint64_t began_ns_ = 0;            ///< the call
  std::uint64_t collect_next_ns_ = 0;

  std::mutex mutex_;  ///< of the lines
  std::vector<std::pair<LogLevel, std::string>> lines_;
  std::atomic<bool> has_lines_{false};
};

}  // namespace batchcast::inline v0_1::python
