// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/starting/start_attach.hpp>

#include <batchcast/consumer/brought.hpp>
#include <batchcast/consumer/delivery.hpp>
#include <batchcast/core/deadline.hpp>
#include <batchcast/core/inline.hpp>
#include <batchcast/core/wait_watch.hpp>
#include <batchcast/starting/ensured.hpp>
#include <batchcast/starting/start_command.hpp>

#include <batchcast/core/error.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <thread>

namespace batchcast::inline v0_1::detail {
namespace start_attach {

inline constexpr int look_again_ms = 20;
// The producer that answered the door a moment ago may be gone; then another one is started.
inline constexpr int attach_within_ms = 1'000;
// A stream ends within that time once its consumers have read all of it.
inline constexpr int finished_stream_ends_ms = 1'000;

inline std::shared_ptr<ConsumerCore> attach_once(const ConsumerOptions& options,
                                                 const Deadline& deadline) {
  ConsumerOptions once = options;
  const int left_ms = deadline.left_ms();
  once.connect_timeout_ms = left_ms < 0 ? attach_within_ms : std::min(left_ms, attach_within_ms);
  // The ranks of a group wait there for each other.
  return ConsumerCore::attach(once, deadline);
}

/// A stream that is started for a trainer on a GPU is served there.
inline StartOptions with_placement(const ConsumerOptions& options) {
  StartOptions start = options.start;
  const std::string option = "--place";
  if (options.placement.is_host() || value_of(start.arguments, option)) return start;
  start.arguments.insert(start.arguments.end(), {option, settled(options.placement).text()});
  return start;
}

[[noreturn]] inline void say_finished(const StreamFinished& refused) {
  throw StreamFinished(text(
      "{}. All its epochs are made, and its producer stays for consumers that still read them. "
      "Another can be started when it has ended; with epochs = 0 a stream has no last epoch.",
      refused.what()));
}

}  // namespace start_attach

BATCHCAST_INLINE std::shared_ptr<ConsumerCore> attach_to_started(const ConsumerOptions& options) {
  // It is made before anything is started, and kept until it is attached: a GPU's context is costly
  // to make.
  const std::unique_ptr<Delivery> gpu = delivery_for(options);
  const Deadline deadline(options.connect_timeout_ms);
  const StartOptions start = start_attach::with_placement(options);
  std::optional<Deadline> finished;
  WaitWatch waits(options.while_waiting);
  for (;;) {
    // The command compares before this trainer is a consumer. A trainer that wants something else
    // must not count for wait_for, nor hold up the others while the source is opened.
    const Ensured ensured = ensure_stream({options.stream, options.directory, deadline.left_ms(),
                                           options.log, options.allow_uids, options.while_waiting},
                                          start);
    try {
      auto consumer = start_attach::attach_once(options, deadline);
      const bool compared = ensured.refusal.empty();
      if (compared && consumer->board().recipe_json() == ensured.recipe_json) return consumer;
      // Another producer took over in between.
    } catch (const StreamFinished& refused) {
      if (!finished) finished.emplace(start_attach::finished_stream_ends_ms);
      if (finished->over() || deadline.over()) start_attach::say_finished(refused);
    } catch (const StreamFailed&) {
      throw;
    } catch (const StreamOver&) {  // it is just ending
      if (deadline.over()) throw;
    } catch (const StreamNotFound&) {
      if (deadline.over()) throw;
    }
    if (deadline.over()) {
      throw StreamNotFound(
          text("batchcast: stream `{}` changes its producer faster than it can be joined.",
               options.stream));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(start_attach::look_again_ms));
    waits.look();
  }
}

BATCHCAST_INLINE void start_alone(const ConsumerOptions& options, int timeout_ms) {
  static_cast<void>(ensure_stream({options.stream, options.directory, timeout_ms, options.log,
                                   options.allow_uids, options.while_waiting},
                                  start_attach::with_placement(options)));
}

BATCHCAST_INLINE bool bring_start() noexcept {
  brought_start_alone.store(&start_alone, std::memory_order_release);
  brought_start.store(&attach_to_started, std::memory_order_release);
  return true;
}

}  // namespace batchcast::inline v0_1::detail
