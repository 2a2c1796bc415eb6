// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "ring/writer/writer_state.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

namespace batchcast::inline v0_1 {

/// Where a consumer begins when it joins or begins another loop, and where a mirror begins. It
/// decides, and changes nothing. The RingWriter asks it under its admission lock.
class JoinRules {
 public:
  explicit JoinRules(const WriterState& state) noexcept : state_(state) {}

  /// A position. Empty: the end of the current epoch, which is not known yet.
  using Start = std::optional<std::uint64_t>;
  struct Bounds {
    std::uint64_t oldest;    ///< position whose sample is still there
    std::uint64_t at_least;  ///< no consumer begins before it
  };

  /// For a consumer that reads this ring.
  [[nodiscard]] Bounds bounds_here(std::uint64_t at_least) const noexcept;
  /// For a trainer that reads a mirror's ring: where the windows of both rings meet, they are one.
  [[nodiscard]] Bounds bounds_with(const MirrorRequest& request) const noexcept;

  /// Where a consumer begins that joins in this way. For `rewind` the gate has been refreshed just
  /// before. `ended`: the answer where no epoch is left for it.
  [[nodiscard]] std::variant<Start, NotAdmitted> start(Join join, std::uint64_t cursor,
                                                       Bounds bounds, const char* ended) const;
  /// The place of the consumer until then: it skips the current epoch, and gets no sample of that.
  [[nodiscard]] StartPoint start_point(Start start) const noexcept;
  /// The start of a mirror whose trainer begins at `trainer`, and whose ring is at `next`.
  [[nodiscard]] MirrorStart mirror_start(Start trainer, std::uint64_t next) const noexcept;

  /// Whether the stream has to go back to this consumer's cursor (0: not attached yet). It has to
  /// if the ring no longer holds the cursor, samples can be made again, and no other consumer is
  /// attached.
  [[nodiscard]] bool goes_back(Join join, std::uint64_t cursor,
                               std::uint64_t consumer_id) const noexcept;
  /// The same for a trainer of a mirror's ring, which may hold the cursor itself.
  [[nodiscard]] bool goes_back(const MirrorRequest& request,
                               std::uint64_t mirror_id) const noexcept;
  /// Whether a ring may go elsewhere for trainers of other rings: it has no consumer itself, and
  /// samples can be made again.
  [[nodiscard]] bool may_go_to(std::uint64_t position) const noexcept;

 private:
  [[nodiscard]] bool can_go_back() const noexcept;
  [[nodiscard]] bool is_alone(std::uint64_t consumer_id) const noexcept;
  [[nodiscard]] Start rewind(Bounds bounds) const noexcept;
  /// Empty if a consumer may begin at `cursor`.
  [[nodiscard]] std::string why_not_at(std::uint64_t cursor, std::uint64_t oldest) const;
  [[nodiscard]] std::string why_gone(std::uint64_t oldest) const;
  [[nodiscard]] std::uint64_t held_in_known_epochs() const noexcept;

  const WriterState& state_;
};

}  // namespace batchcast::inline v0_1
