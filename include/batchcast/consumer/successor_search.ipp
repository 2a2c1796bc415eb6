// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/consumer/successor_search.hpp>

#include <batchcast/consumer/brought.hpp>
#include <batchcast/core/clock.hpp>
#include <batchcast/core/deadline.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/inline.hpp>
#include <batchcast/core/named_thread.hpp>

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <exception>
#include <new>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace successor_search {

inline constexpr int look_every_ms = 20;
inline constexpr int start_ms = 10'000;  // at a time; then it looks whether time is up

}  // namespace successor_search

BATCHCAST_INLINE bool is_lack_of_memory(const std::exception& error) noexcept {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return true;
  if (dynamic_cast<const OutOfMemory*>(&error) != nullptr) return true;
  const auto* failed = dynamic_cast<const SystemError*>(&error);
  return failed != nullptr &&
         (failed->code() == ENOMEM || failed->code() == EMFILE || failed->code() == ENFILE);
}

BATCHCAST_INLINE SuccessorSearch::SuccessorSearch(Wanted wanted)
    : wanted_(std::move(wanted)), owner_pid_(::getpid()) {
  // Both are for the trainer's thread.
  wanted_.options.log = [](LogLevel, std::string_view) {};
  wanted_.options.while_waiting = [this] { look_whether_given_up(); };
  thread_ = start_thread("bc-successor", [this] { run(); });
}

BATCHCAST_INLINE SuccessorSearch::~SuccessorSearch() {
  {
    const std::lock_guard lock(mutex_);
    given_up_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

BATCHCAST_INLINE void SuccessorSearch::End::operator()(SuccessorSearch* search) const noexcept {
  if (::getpid() == search->owner_pid_) delete search;
}

BATCHCAST_INLINE bool SuccessorSearch::wait(int timeout_ms) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::milliseconds(timeout_ms), [this] { return over_; });
}

BATCHCAST_INLINE std::optional<Joined> SuccessorSearch::take() {
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  return std::exchange(joined_, std::nullopt);
}

BATCHCAST_INLINE std::string SuccessorSearch::kept_out() const {
  const std::lock_guard lock(mutex_);
  return kept_out_;
}

BATCHCAST_INLINE void SuccessorSearch::tell_kept_out(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  kept_out_ = reason;
}

BATCHCAST_INLINE void SuccessorSearch::run() noexcept {
  std::optional<Joined> joined;
  std::exception_ptr failure;
  bool is_group_broken = false;
  try {
    joined = find();
  } catch (const GivenUp&) {
    // Nobody asks what became of it.
  } catch (const GroupBroken&) {
    is_group_broken = true;
    failure = std::current_exception();
  } catch (...) {
    failure = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  joined_ = std::move(joined);
  failure_ = std::move(failure);
  is_group_broken_ = is_group_broken;
  over_ = true;
  changed_.notify_all();
}

/// Nothing once time is up. It stands still while a producer that has the name opens its dataset,
/// and goes on once that has a door.
BATCHCAST_INLINE std::optional<Joined> SuccessorSearch::find() {
  StreamJoiner joiner(wanted_.options, wanted_.placement, Deadline(-1), Deadline(-1),
                      wanted_.resumes);
  const StartAlone start = wanted_.options.start.source.empty()
                               ? nullptr
                               : brought_start_alone.load(std::memory_order_acquire);
  std::int64_t left_ns = std::int64_t{wanted_.timeout_ms} * 1'000'000;
  for (;;) {
    const std::uint64_t began_ns = now_ns();
    StreamJoiner::KeptOut kept_out;
    try {
      if (std::optional<Joined> joined = joiner.try_join(kept_out)) return joined;
    } catch (const std::exception& error) {
      if (!is_lack_of_memory(error)) throw;
      kept_out.reason = error.what();
    }
    tell_kept_out(kept_out.reason);
    look_whether_given_up();
    const bool is_locked = joiner.is_locked();
    if (!is_locked) joiner.check_not_ended();
    if (start != nullptr && !is_locked) {
      try {
        start(wanted_.options, successor_search::start_ms);
      } catch (const StreamNotFound&) {
        // It may come yet.
      } catch (const StartFailed&) {
        joiner.check_not_ended();  // StreamFailed, where it was given up
        throw;
      }
    } else {
      rest(successor_search::look_every_ms);
    }
    if (kept_out.is_opening || wanted_.timeout_ms < 0) continue;
    left_ns -= static_cast<std::int64_t>(now_ns() - began_ns);
    if (left_ns <= 0) return std::nullopt;
  }
}

BATCHCAST_INLINE void SuccessorSearch::look_whether_given_up() const {
  const std::lock_guard lock(mutex_);
  if (given_up_) throw GivenUp();
}

BATCHCAST_INLINE void SuccessorSearch::rest(int ms) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::milliseconds(ms), [this] { return given_up_; });
  if (given_up_) throw GivenUp();
}

}  // namespace batchcast::inline v0_1::detail
