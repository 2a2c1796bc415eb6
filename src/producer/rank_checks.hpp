// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/log.hpp>
#include <batchcast/join/message.hpp>
#include <batchcast/producer_options.hpp>
#include "producer/forming_groups.hpp"
#include "producer/seated_groups.hpp"
#include "served/served_ring.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// Which ranks of groups a stream refuses at the door, and why. Belongs to the door's thread.
class RankChecks {
 public:
  /// All must outlive it.
  RankChecks(const ProducerOptions& options, const LogCallback& log, FormingGroups& forming,
             SeatedGroups& groups) noexcept
      : options_(options), log_(log), forming_(forming), groups_(groups) {}

  /// Nothing where the rank may wait for the others, or come back to its place.
  [[nodiscard]] std::optional<Refusal> refusal_of(const Hello& hello, ServedRing& ring);
  /// Ranks that wait for it receive the reason, and the log has it once.
  void note_refused(const Hello& hello, std::uint32_t pid, const std::string& why);
  /// Refuses the ranks that wait once the stream admits none any more: the others will not come.
  void refuse_if_over(ServedRing& host, std::vector<RankNews>& news);
  /// Refuses a complete group whose name another one has by now. False where none has it.
  [[nodiscard]] bool refuse_taken(const std::vector<WaitingRank>& ranks,
                                  std::vector<RankNews>& news);
  [[nodiscard]] Refusal broken(const std::string& group, const std::string& why) const;
  /// Of a rank that comes back at the stream's end: it has all that a group gets.
  [[nodiscard]] std::optional<Refusal> refusal_if_read_all(const Hello& hello) const;
  /// Of a rank that comes back where it is decided where the stream goes on, and no place was kept.
  [[nodiscard]] Refusal refusal_of_late(const Hello& hello) const;

 private:
  [[nodiscard]] std::optional<Refusal> refusal_of_share(const Hello& hello, ServedRing& ring) const;
  /// How messages of this stream begin.
  [[nodiscard]] std::string stream_text() const;

  const ProducerOptions& options_;
  const LogCallback& log_;
  FormingGroups& forming_;
  SeatedGroups& groups_;
  std::set<std::pair<std::string, std::string>> refusals_said_;  ///< a group, and why
};

}  // namespace batchcast::inline v0_1::detail
