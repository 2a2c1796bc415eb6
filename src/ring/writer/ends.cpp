// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "ring/writer/writer.hpp"

#include <batchcast/core/clock.hpp>
#include <batchcast/core/error.hpp>

#include "ring/writer/pending_wakes.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

// How an epoch ends, and how a stream does.
namespace batchcast::inline v0_1 {

void RingWriter::end_epoch() {
  PendingWakes wakes;
  {
    Lock lock(mutex_);
    if (over()) return;
    if (ledger_.length_known()) {
      throw InvalidArgument("batchcast: end_epoch() on a stream whose epochs have " +
                            std::to_string(options_.samples_per_epoch) +
                            " samples each: they end by themselves. Leave samples_per_epoch at 0 "
                            "for a stream whose epochs end when you say so.");
    }
    const bool all_ready = std::all_of(outstanding_.begin(), outstanding_.end(),
                                       [](const Outstanding& run) { return run.ready; });
    if (!all_ready) {
      throw InvalidArgument(
          "batchcast: end_epoch() while a loan is out. Publish or drop every loan of the epoch "
          "first: only then is it known where the epoch ends.");
    }
    if (ledger_.start_of(ledger_.epoch_of(next_)) == next_) {
      throw InvalidArgument("batchcast: end_epoch() of an epoch without a sample.");
    }
    ledger_.end_current(next_, published_);
    limit_ = 0;
    wake_sleepers(wakes, true);
    bump();
  }
  wakes.wake();
}

void RingWriter::finish() {
  bool unfinished_epoch = false;
  {
    Lock lock(mutex_);
    if (over() || stream_end_ == published_) return;
    unfinished_epoch = ledger_.start_of(ledger_.epoch_of(next_)) != next_;
    if (unfinished_epoch && ledger_.length_known()) {
      throw InvalidArgument("batchcast: finish() in the middle of epoch " +
                            std::to_string(ledger_.epoch_of(next_)) +
                            ": make it whole first, or end the stream with stop().");
    }
  }
  if (unfinished_epoch) end_epoch();
  PendingWakes wakes;
  {
    Lock lock(mutex_);
    if (over()) return;
    stream_end_ = next_;
    if (published_ == stream_end_) {
      enter_end(StreamState::finished, "", wakes);
    }
    bump();
  }
  wakes.wake();
}

void RingWriter::stop(const std::string& text) noexcept {
  PendingWakes wakes;
  {
    Lock lock(mutex_);
    drain_cancelled_ = true;
    bump();
    if (!over()) enter_end(StreamState::stopped, text, wakes);
  }
  wakes.wake();
}

bool RingWriter::stop_if_unattended(std::uint64_t for_ns, const std::string& text) noexcept {
  PendingWakes wakes;
  {
    Lock lock(mutex_);
    const bool ended = drain_cancelled_ || (over() && outcome_ != StreamState::finished);
    const bool attended = trainers() != 0 || trainers_elsewhere_ != 0;
    if (ended || attended || now_ns() - last_leave_ns_ < for_ns) return false;
    drain_cancelled_ = true;
    bump();
    if (!over()) enter_end(StreamState::stopped, text, wakes);
  }
  wakes.wake();
  return true;
}

void RingWriter::fail(const std::string& text) noexcept {
  PendingWakes wakes;
  {
    Lock lock(mutex_);
    if (!over()) enter_end(StreamState::failed, text, wakes);
  }
  wakes.wake();
}

void RingWriter::enter_end(StreamState outcome, const std::string& text,
                           PendingWakes& wakes) noexcept {
  outcome_ = outcome;
  outcome_text_ = text;
  BoardProgress& board = board_.progress();
  const std::size_t length = std::min(text.size(), board.state_text.size() - 1);
  std::memcpy(board.state_text.data(), text.data(), length);
  board.state_text[length] = '\0';
  ordered::set(board.outcome, static_cast<std::uint32_t>(outcome));
  ordered::set(board.end_position, published_);
  ordered::store_state(board, outcome == StreamState::finished ? StreamState::draining : outcome);
  wake_sleepers(wakes, true);
  bump();
}

bool RingWriter::wait_drained(int timeout_ms) {
  const std::uint64_t started_ns = now_ns();
  constexpr int look_ms = 10;
  for (;;) {
    const std::uint32_t value = ordered::load_word(private_word_);
    bool is_drained = false;
    bool is_cancelled = false;
    std::vector<Eviction> evictions;
    {
      Lock lock(mutex_);
      is_drained = drained();
      is_cancelled = drain_cancelled_;
      evictions = std::exchange(evictions_, {});
    }
    tell_evicted(std::move(evictions));
    if (is_drained) return true;
    if (is_cancelled) return false;
    if (timeout_ms >= 0 &&
        now_ns() - started_ns >= static_cast<std::uint64_t>(timeout_ms) * 1'000'000) {
      return false;
    }
    futex_wait(private_word_, value, look_ms);
  }
}

bool RingWriter::all_made() const {
  Lock lock(mutex_);
  return next_ >= stream_end_ && std::all_of(outstanding_.begin(), outstanding_.end(),
                                             [](const Outstanding& run) { return run.ready; });
}

bool RingWriter::drained() {
  if (!over()) return false;  // all is made, and the first publication waits for its consumers
  // A stream that came to its end waits for its first consumer: the sweep may be slow to start.
  if (!had_consumer_ && outcome_ == StreamState::finished) return false;
  evict_offenders();
  for (Attached& consumer : attached_) {
    if (consumer.paused) continue;
    const auto position = position_of(consumer);
    if (!position || *position < published_) return false;
  }
  return true;
}

bool RingWriter::close() {
  std::vector<Eviction> evictions;
  bool closes = false;
  {
    Lock lock(mutex_);
    closes = drained();
    closed_ = closed_ || closes;
    if (closes && outcome_ == StreamState::finished) {
      ordered::store_state(board_.progress(), StreamState::finished);
    }
    evictions = std::exchange(evictions_, {});
  }
  tell_evicted(std::move(evictions));
  return closes;
}

}  // namespace batchcast::inline v0_1
