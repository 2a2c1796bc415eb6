// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// What a thread did for a while.
enum class SpanKind : std::uint32_t {
  waiting,  ///< a worker, for a loan, for rows, and for its turn to take rows
  making,   ///< a worker, of all samples of a loan
  sample,   ///< within that, one sample
  reading,  ///< within that, for the source
  step,     ///< a trainer, from one release to the next
  trainer_waits,
  waited_for,  ///< the full ring, for this trainer
  for_room,    ///< a loan waited
  for_demand,
  for_consumers,
};

struct Span {
  SpanKind kind = SpanKind::waiting;
  std::uint32_t track = 0;  ///< set by who collects spans
  std::uint64_t began_ns = 0;
  std::uint64_t ended_ns = 0;
  std::uint64_t value = 0;  ///< how many samples; of one sample its id
};

/// The spans of one thread while a trace is on. Off, a note costs one relaxed load. On, it
/// does not allocate. What does not fit is counted. One thread notes; all else is for any thread.
class SpanBuffer {
 public:
  SpanBuffer() = default;
  SpanBuffer(const SpanBuffer&) = delete;
  SpanBuffer& operator=(const SpanBuffer&) = delete;

  [[nodiscard]] bool is_on() const noexcept { return on_.load(std::memory_order_relaxed); }
  void note(SpanKind kind, std::uint64_t began_ns, std::uint64_t ended_ns,
            std::uint64_t value = 0) noexcept {
    if (is_on()) [[unlikely]]
      keep({kind, 0, began_ns, ended_ns, value});
  }

  void turn_on(std::size_t spans_max) {
    std::vector<Span> room;
    room.reserve(spans_max);
    const std::lock_guard lock(mutex_);
    spans_ = std::move(room);
    left_out_ = 0;
    on_.store(true, std::memory_order_relaxed);
  }
  /// And frees its memory.
  void turn_off() noexcept {
    std::vector<Span> none;
    const std::lock_guard lock(mutex_);
    on_.store(false, std::memory_order_relaxed);
    spans_.swap(none);
  }
  /// Exchanges what was noted for `room`, which is empty and has room for as many. Returns how many
  /// spans did not fit since the last call.
  std::uint64_t take(std::vector<Span>& room) noexcept {
    const std::lock_guard lock(mutex_);
    spans_.swap(room);
    return std::exchange(left_out_, 0);
  }

 private:
  void keep(const Span& span) noexcept {
    const std::lock_guard lock(mutex_);
    if (spans_.size() < spans_.capacity()) {
      spans_.push_back(span);
    } else {
      ++left_out_;
    }
  }

  std::atomic<bool> on_{false};
  std::mutex mutex_;
  std::vector<Span> spans_;
  std::uint64_t left_out_ = 0;
};

}  // namespace batchcast::inline v0_1::detail
