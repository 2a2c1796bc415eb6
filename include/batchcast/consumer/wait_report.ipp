// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/consumer/wait_report.hpp>

#include <batchcast/core/clock.hpp>
#include <batchcast/core/inline.hpp>
#include <batchcast/core/log.hpp>
#include <batchcast/core/process_state.hpp>
#include <batchcast/core/text.hpp>
#include <batchcast/ring/cursor.hpp>

#include <algorithm>
#include <exception>

namespace batchcast::inline v0_1::detail {
namespace wait_report {

inline constexpr std::uint64_t first_after_ns = 2'000'000'000;
inline constexpr std::uint64_t one_wait_ns = 1'000'000'000;
inline constexpr std::uint64_t again_after_ns = 60'000'000'000;
// The producer wakes by itself to look around, and names no consumer at that moment.
inline constexpr std::uint64_t holder_remembered_ns = 500'000'000;

/// What is said of another consumer of this process.
inline std::string text_of_own(const std::string& holder) {
  return text(
      "consumer `{}` of this same process, which has not given back older samples. Close it (in "
      "Python by `with` or close()), or attach it with between_epochs `let_go`, so that the stream "
      "does not wait for it between its loops.",
      holder);
}

}  // namespace wait_report

BATCHCAST_INLINE void WaitReport::look(Cause cause) noexcept {
  const std::uint64_t now = now_ns();
  // Calls that time out are one wait where they follow each other closely.
  const bool goes_on = since_ns_ != 0 && now - looked_ns_ < wait_report::one_wait_ns;
  looked_ns_ = now;
  if (!goes_on) {
    since_ns_ = now;
    next_ns_ = now + wait_report::first_after_ns;
    holder_ = 0;
  }
  note_holder(now);
  if (now < next_ns_) return;
  next_ns_ = now + wait_report::again_after_ns;
  try {
    report(options_.log, LogLevel::info,
           text("`{}` has waited {} s for position {} of stream `{}`: {}", consumer_,
                (now - since_ns_) / 1'000'000'000, reader_.position(), options_.stream,
                text_of(cause)));
  } catch (const std::exception&) {
    // Only the line is lost.
  }
}

BATCHCAST_INLINE void WaitReport::note_holder(std::uint64_t now) noexcept {
  const std::uint64_t holder = ordered::load_sleeping_on(ring_.board().progress());
  if (holder != 0) {
    holder_ = holder;
    holder_seen_ns_ = now;
  } else if (now - holder_seen_ns_ > wait_report::holder_remembered_ns) {
    holder_ = 0;
  }
}

BATCHCAST_INLINE std::string WaitReport::text_of(Cause cause) const {
  if (cause == Cause::gpu_streams) return "GPU streams still work on the batches before it.";
  const std::uint32_t pid = ring_.board().head().producer_pid;
  if (is_stopped(pid)) {
    return text("its producer, process {}, is stopped. `kill -CONT {}` continues it.", pid, pid);
  }
  if (cause == Cause::samples) return what_samples_wait_for();
  return text("its producer, process {}, has not answered.", pid);
}

BATCHCAST_INLINE std::string WaitReport::what_samples_wait_for() const {
  const BoardView board = ring_.board();
  const std::string producer = text("its producer, process {}, ", board.head().producer_pid);
  if (ordered::load_published(board.progress()) > reader_.position() && options_.group.world != 0) {
    return text("the other ranks of group `{}` have not come as far.", options_.group.name);
  }
  // The ring may be full meanwhile, which is not what it waits for.
  const std::uint32_t to_come = ordered::get(board.progress().consumers_to_come);
  if (to_come != 0) {
    return text("{}waits until {} more {} (wait_for).", producer, to_come,
                to_come == 1 ? "trainer comes" : "trainers come");
  }
  if (holder_ != 0) return text("{}waits for {}", producer, holder_text(holder_));
  if (ordered::load_state(board.progress()) == StreamState::starting) {
    return text("{}has not begun the stream.", producer);
  }
  return text("{}has not made it yet.", producer);
}

BATCHCAST_INLINE std::string WaitReport::holder_text(std::uint64_t consumer_id) const {
  const BoardView board = ring_.board();
  std::uint32_t own_pid = 0;  // as the producer sees it, where process namespaces differ
  std::uint32_t pid = 0;
  std::string holder;
  for (std::size_t i = 0; i < board.head().consumers_max; ++i) {
    const ConsumerEntry& entry = board.consumer(i);
    const std::uint64_t id = entry.consumer_id.load(std::memory_order_acquire);
    const std::string name(entry.name.begin(),
                           std::find(entry.name.begin(), entry.name.end(), '\0'));
    if (id != 0 && name == consumer_) own_pid = entry.pid.load(std::memory_order_relaxed);
    if (id != consumer_id) continue;
    holder = name;
    pid = entry.pid.load(std::memory_order_relaxed);
  }
  if (holder.empty()) return "a consumer that has just left.";
  if (holder == consumer_) {
    const std::uint64_t held = reader_.status().leases_held;
    if (held == 0) return "room, which this consumer has just given back.";
    return text("this consumer, which holds {} batches.", held);
  }
  if (pid == own_pid) return wait_report::text_of_own(holder);
  return text("consumer `{}` of process {}, which has not given back older samples.", holder, pid);
}

}  // namespace batchcast::inline v0_1::detail
