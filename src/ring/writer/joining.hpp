// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/group.hpp>
#include <batchcast/core/options.hpp>
#include <batchcast/core/row_place.hpp>
#include <batchcast/ring/layout.hpp>

#include <cstdint>
#include <optional>
#include <string>

// What callers of RingWriter say about a consumer that joins, and the answers.
namespace batchcast::inline v0_1 {

/// Where a consumer begins.
struct StartPoint {
  std::uint64_t position = 0;
  std::uint64_t skipping = 0;  ///< e + 1: at the end of epoch e, which is not known yet; else 0
};

struct AdmitRequest {
  std::string name;
  std::uint32_t pid = 0;
  std::uint32_t batch_size = 0;
  Pace pace = Pace::lockstep;
  Join join = Join::rewind;
  std::uint64_t cursor = 0;
  BetweenEpochs between_epochs = BetweenEpochs::hold;
  bool observes = false;  ///< only looks at what is there: no demand, no gate
  /// A mirror, which copies the stream into another ring of this process. It gates like a lockstep
  /// consumer, and in all other respects is no consumer. It begins paused; only `resume_mirror`
  /// lets it in.
  bool mirrors = false;
  Group group = {};  ///< for a rank
  Tail tail = Tail::keep;
  /// With `let_go`: it goes on within a loop that an earlier producer began, and is not paused.
  bool in_loop = false;
  /// Where another rank of its group stands, and gates: it begins there, not as `join` says.
  std::optional<StartPoint> place = {};
};

struct Admitted {
  std::uint32_t index = 0;
  std::uint64_t consumer_id = 0;
  std::uint64_t position = 0;
  std::uint64_t samples_to_come = 0;  ///< before the first one that it gets
  std::string name;                   ///< made unique
  std::uint64_t skipping = 0;         ///< as in StartPoint
};

/// News for a rank about the others; what is not set stays as it was.
struct GroupNews {
  struct Lost {
    detail::LostRank rank;
    std::uint64_t from = 0;  ///< first epoch that is no longer available
  };
  struct Met {
    std::uint64_t epochs = 0;  ///< all ranks have ended the epochs below
    GroupReceipt receipt = GroupReceipt::unknown;
  };
  struct Ends {
    std::uint64_t epoch = 0;
    RowPlace place = {};  ///< no rank begins a batch of that epoch here or beyond
  };
  std::optional<Lost> lost = {};
  std::optional<Met> met = {};
  std::optional<Ends> ends = {};
};

struct NotAdmitted {
  enum class Reason { full, finished, stopped, failed, cursor_gone } reason;
  std::string text;
};

/// What a consumer that asks for a cursor would find in a ring.
struct RingOutlook {
  bool is_over = false;      ///< it admits no consumer
  bool goes_back = false;    ///< it would go back to the cursor
  std::uint64_t oldest = 0;  ///< position that it holds
  std::uint64_t published = 0;
  /// Where `rewind` begins, if that is known, and the start of the epoch that the stream is in.
  std::optional<std::uint64_t> rewind = {};
  std::uint64_t epoch_start = 0;
};

/// A trainer came to a resting mirror's ring: what it asks for, and what that ring holds.
struct MirrorRequest {
  Join join = Join::rewind;  ///< the trainer's
  std::uint64_t cursor = 0;  ///< the trainer's
  std::uint64_t oldest = 0;  ///< position that the mirror's ring holds
  std::uint64_t next = 0;    ///< position where the mirror would continue
};

/// Where the mirror begins, and where its trainer does.
struct MirrorStart {
  std::uint64_t position = 0;  ///< `next`, or its ring has to be restarted here
  std::uint64_t epoch = 0;     ///< of `position`; an end belongs to the next epoch
  std::uint64_t epoch_start = 0;
  /// At least `oldest`. Nothing where the next epoch's start is not known yet.
  std::optional<std::uint64_t> trainer = std::nullopt;
};

}  // namespace batchcast::inline v0_1
