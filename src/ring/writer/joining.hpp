// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/options.hpp>

#include <cstdint>
#include <optional>
#include <string>

// What callers of RingWriter say of a consumer that joins, and what they are told.
namespace batchcast::inline v0_1 {

struct AdmitRequest {
  std::string name;
  std::uint32_t pid = 0;
  std::uint32_t batch_size = 0;
  Pace pace = Pace::lockstep;
  Join join = Join::rewind;
  std::uint64_t cursor = 0;
  BetweenEpochs between_epochs = BetweenEpochs::hold;
  bool observes = false;  ///< looks at what is there: no demand, no gate
  /// A mirror, which copies the stream into another ring of this process. It gates like a lockstep
  /// consumer, and is a consumer in no other respect. It begins paused; only `resume_mirror` lets
  /// it in.
  bool mirrors = false;
};

struct Admitted {
  std::uint32_t index = 0;
  std::uint64_t consumer_id = 0;
  std::uint64_t position = 0;
  std::uint64_t samples_to_come = 0;  ///< before the first one that it gets
  std::string name;                   ///< made unique
};

struct NotAdmitted {
  enum class Reason { full, finished, stopped, failed, cursor_gone } reason;
  std::string text;
};

/// A trainer came to the ring of a mirror that rests: what the trainer asks for, and what that ring
/// holds.
struct MirrorRequest {
  Join join = Join::rewind;  ///< the trainer's
  std::uint64_t cursor = 0;  ///< the trainer's
  std::uint64_t oldest = 0;  ///< position that the mirror's ring holds
  std::uint64_t next = 0;    ///< position that the mirror would go on with
};

/// Where the mirror begins, and its trainer.
struct MirrorStart {
  std::uint64_t position = 0;  ///< `next`, or its ring has to be restarted here
  std::uint64_t epoch = 0;     ///< of `position`; an end belongs to the next one
  std::uint64_t epoch_start = 0;
  /// At least `oldest`. Nothing where the next epoch's start is not known yet.
  std::optional<std::uint64_t> trainer = std::nullopt;
};

}  // namespace batchcast::inline v0_1
