// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "python/consumer/calls.hpp"

#include <batchcast/consumer.hpp>
#include <batchcast/consumer/attached_process.hpp>

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace batchcast::inline v0_1::python {

/// The inside of Python's `Consumer`: a consumer that can be closed, with calls that meet Python.
/// All calls need the GIL.
class Trainer {
 public:
  /// Attaches. Throws what Consumer throws, KeyboardInterrupt.
  Trainer(ConsumerOptions options, nanobind::object log);
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  /// Empty at the end of an epoch. Throws Timeout.
  [[nodiscard]] std::optional<Batch> next(int timeout_ms);
  /// The next batch, a Python object, which is not delivered yet. Until `deliver_held` every call
  /// gives the same one, and the cursor is where it begins. Null at the end of an epoch. Throws
  /// Timeout.
  [[nodiscard]] nanobind::object hold(int timeout_ms);
  void deliver_held() noexcept { held_.reset(); }
  /// The batch that is held, else a copy of what comes next, which changes nothing. Throws Timeout.
  [[nodiscard]] nanobind::object peek(int timeout_ms);
  [[nodiscard]] bool holds() const noexcept { return held_.is_valid(); }
  [[nodiscard]] bool has_next_epoch();
  [[nodiscard]] std::optional<Batch> newest(std::uint64_t samples_max);
  void leave_epoch();
  /// As Consumer::move_to; loops that were under way skip nothing any more.
  [[nodiscard]] bool move_to(RowPlace cursor);
  [[nodiscard]] std::optional<std::uint64_t> batches_of_epoch();
  /// Throws RingTooSmall, InvalidArgument.
  void set_batch_size(std::uint64_t batch_size);
  void set_budget(const Budget& budget);
  void set_window(const Window& window);
  void close();

  /// The consumer, to look at. Throws InvalidArgument where it is closed or in use, Forked.
  [[nodiscard]] const Consumer& looked_at() const;
  /// The consumer, for changes that wait for nothing.
  [[nodiscard]] Consumer& changed();
  /// The cursor of the batch that is held, else of what comes next. They throw as `looked_at`.
  [[nodiscard]] std::uint64_t cursor() const;
  [[nodiscard]] std::uint64_t cursor_row() const;
  [[nodiscard]] std::uint64_t epoch() const;
  void set_cuda_stream(void* stream);

  /// Begins a loop; earlier loops skip nothing any more.
  [[nodiscard]] std::uint64_t begin_loop() noexcept { return ++loops_; }
  /// Whether `leave_epoch` was called in the loop that began as that one.
  [[nodiscard]] bool was_left(std::uint64_t loop) const noexcept { return left_loop_ == loop; }
  /// The loop that began as that one ends early, `by_exception` or on purpose.
  void end_loop(std::uint64_t loop, bool by_exception) noexcept;

  [[nodiscard]] const std::string& stream() const noexcept { return stream_; }
  [[nodiscard]] bool is_closed() const noexcept { return !consumer_; }
  [[nodiscard]] PyObject* log() const noexcept { return calls_->log(); }
  void let_go_of_log() noexcept { calls_->let_go(); }

 private:
  [[nodiscard]] std::optional<Batch> next_new(int timeout_ms);
  [[nodiscard]] std::optional<Batch> next_of(int timeout_ms);
  /// Throws Forked, InvalidArgument where it is in use or closed.
  void check_ready() const;
  void check_open() const;
  /// The error for a ring that is too small, with advice for those who may have started it.
  [[nodiscard]] RingTooSmall told(const std::string& text) const;
  [[noreturn]] void throw_timeout(int timeout_ms) const;

  const std::string stream_;
  const detail::AttachedProcess process_;
  const std::shared_ptr<Calls> calls_ = std::make_shared<Calls>();
  std::optional<Consumer> consumer_;
  nanobind::object held_;  ///< a Batch that is taken, and not delivered
  RowPlace cursor_of_held_;
  std::uint64_t loops_ = 0;
  std::uint64_t left_loop_ = 0;  ///< the last one within which `leave_epoch` was called
  const bool starts_;            ///< the stream, where it is not served
  const bool may_be_quick_;
  /// A batch that is there is handed out in no time, and no other thread gets the GIL meanwhile.
  bool is_quick_ = false;
};

}  // namespace batchcast::inline v0_1::python
