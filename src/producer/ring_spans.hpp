// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "core/span_buffer.hpp"
#include "ring/writer/status.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// A counter of nanoseconds that were waited, as spans. What it grew by lies right before the look
/// that saw it.
class CountedWait {
 public:
  explicit CountedWait(std::uint64_t counted_ns, std::uint64_t now_ns) noexcept
      : counted_ns_(counted_ns), ended_ns_(now_ns) {}

  /// The wait since the last look, which begins at `from_ns` at the earliest; its kind and track
  /// are the caller's.
  [[nodiscard]] std::optional<Span> look(std::uint64_t counted_ns, std::uint64_t now_ns,
                                         std::uint64_t from_ns = 0) noexcept;

 private:
  std::uint64_t counted_ns_;
  std::uint64_t ended_ns_;
  std::uint64_t owed_ns_ = 0;  ///< that overlapped with the span before
};

/// What a ring and its trainers do, as spans, from looks at its writer. They are as exact as looks
/// are frequent. The ring's path notes nothing, and so pays nothing.
class RingSpans {
 public:
  /// Makes a track, and returns its number.
  using MakeTrack = std::function<std::uint32_t(const std::string& group, const std::string& name)>;

  /// `placement`: the ring's, such as `host`.
  RingSpans(std::string placement, MakeTrack make_track);

  /// Appends what happened since the last look. `now_ns` grows from look to look.
  void look(const WriterStatus& status, std::uint64_t now_ns, std::vector<Span>& spans);
  /// Appends the steps that are not over yet.
  void end(std::uint64_t now_ns, std::vector<Span>& spans);

 private:
  struct Trainer {
    std::string name;
    std::uint32_t track;
    std::optional<std::uint32_t> waited_for_track;  ///< once the ring waited for it
    std::uint64_t position;
    std::uint64_t step_began_ns;
    CountedWait waits;
    CountedWait waited_for;
    bool is_there = true;
  };
  void look_at(const ConsumerStatus& row, std::uint64_t now_ns, std::vector<Span>& spans);
  void look_at_waits(const WriterStatus& status, std::uint64_t now_ns, std::vector<Span>& spans);

  const std::string placement_;
  const MakeTrack make_track_;
  std::map<std::uint64_t, Trainer> trainers_;  ///< by consumer id
  std::optional<std::uint32_t> track_;         ///< the ring's, once a loan waited
  std::optional<CountedWait> waits_;
  SpanKind waits_for_ = SpanKind::for_room;  ///< what it last waited for
};

}  // namespace batchcast::inline v0_1::detail
