// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/consumer_options.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/limits.hpp>
#include <batchcast/core/text.hpp>
#include <batchcast/join/message.hpp>

#include <string>

// Which options contradict each other, or cannot be, with any stream. They throw
// InvalidArgument.
namespace batchcast::inline v0_1::detail::option_checks {

inline void check_group(const ConsumerOptions& options) {
  const Group& group = options.group;
  const std::string rank = text("batchcast: rank {} of {}", group.rank, group.world);
  if (group.world == 0) {
    if (group.name.empty() && group.rank == 0) return;
    throw InvalidArgument(
        text("{} in group `{}`: a group has a world of at least one rank.", rank, group.name));
  }
  if (group.name.empty()) throw InvalidArgument(text("{}: its group has no name.", rank));
  if (group.name.size() > limits::consumer_name_bytes_max) {
    throw InvalidArgument(text("batchcast: the name of group `{}` takes more than {} bytes.",
                               group.name, limits::consumer_name_bytes_max));
  }
  check_consumer_name(group.name);
  if (group.rank >= group.world) {
    throw InvalidArgument(text("{} in group `{}`: ranks are counted from 0.", rank, group.name));
  }
  if (options.pace != Pace::lockstep || options.between_epochs != BetweenEpochs::hold ||
      options.observes) {
    throw InvalidArgument(
        text("batchcast: group `{}` is to have pace `free`, between_epochs `let_go` or an "
             "observer. The ranks of a group get parts of the same batches, so all take part in "
             "lockstep and hold their places.",
             group.name));
  }
}

inline void check_cursor(const ConsumerOptions& options) {
  if (options.join == Join::at && options.cursor >= limits::position_max) {
    throw InvalidArgument(text(
        "batchcast: cursor is {}, and the positions of a stream stay below 2^63. Give a cursor "
        "that a consumer or a checkpoint had.",
        options.cursor));
  }
  if (options.join == Join::at && options.cursor_row >= limits::position_max) {
    throw InvalidArgument(
        text("batchcast: cursor_row is {}, and no sample has as many rows. Give a row that a "
             "consumer or a checkpoint had.",
             options.cursor_row));
  }
  const bool is_set = options.cursor != 0 || options.cursor_row != 0;
  if (!is_set || options.join == Join::at) return;
  throw InvalidArgument(
      text("batchcast: {} is {}, which says where join `at` begins; with join `{}` it has no "
           "meaning.",
           options.cursor != 0 ? "cursor" : "cursor_row",
           options.cursor != 0 ? options.cursor : options.cursor_row, name_of(options.join)));
}

inline void check_budget(const ConsumerOptions& options) {
  if (!options.budget.is_set()) return;
  if (options.budget.rows == 0 || options.budget.axis.empty()) {
    throw InvalidArgument(
        text("batchcast: the budget is {} rows of the axis `{}`. It names an axis and has at least "
             "one row, such as {\"tokens\", 16384}.",
             options.budget.rows, options.budget.axis));
  }
  if (options.tail == Tail::keep) return;
  throw InvalidArgument(
      text("batchcast: tail is `{}`, which says what becomes of samples that fill no batch of one "
           "size. With a budget the last batch of an epoch has what is left: leave tail at keep.",
           name_of(options.tail)));
}

inline void check_window(const ConsumerOptions& options) {
  const Window& window = options.window;
  if (!window.is_set()) return;
  if (window.extra != 0 && window.rows == 0 && window.axis.empty()) {
    throw InvalidArgument(
        text("batchcast: extra is {}, rows that each run of a window shows besides, and there is "
             "no window. Give a window, such as 8 runs of 2048 rows, or leave extra out.",
             window.extra));
  }
  if (window.rows == 0 || window.runs == 0 || window.axis.empty()) {
    throw InvalidArgument(
        text("batchcast: the window is {} runs of {} rows of the axis `{}`. It names an axis and "
             "has at least one row and one run, such as {\"tokens\", 2048, 8}.",
             window.runs, window.rows, window.axis));
  }
  if (options.budget.is_set()) {
    throw InvalidArgument(
        "batchcast: a budget and a window are both set. A budget cuts batches of whole samples, a "
        "window batches of one number of rows: choose one of them.");
  }
}

/// Of a consumer that attaches: later it may choose a window instead of the batches that it had.
inline void check_one_size(const ConsumerOptions& options) {
  const Window& window = options.window;
  if (!window.is_set() || options.batch_size == ConsumerOptions().batch_size) return;
  throw InvalidArgument(
      text("batchcast: batch_size is {}, and with a window a batch has its runs, {}: leave "
           "batch_size at its default.",
           options.batch_size, window.runs));
}

[[noreturn]] inline void throw_no_samples() {
  throw InvalidArgument("batchcast: batch_size is 0. A batch has at least one sample.");
}

}  // namespace batchcast::inline v0_1::detail::option_checks
