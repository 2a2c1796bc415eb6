// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/join/message.hpp>
#include <batchcast/producer.hpp>
#include "door/door_server.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// A rank that waits at the door for the others of its group.
struct WaitingRank {
  ConsumerKey key = 0;
  Hello hello;
  std::uint32_t pid = 0;
};

/// The groups of which some ranks have come, and not all. None of these ranks has a place yet.
/// Belongs to the door's thread, except for `count` and `list`.
class FormingGroups {
 public:
  /// How that rank conflicts with those of its group that wait; nothing where it does not.
  [[nodiscard]] std::optional<std::string> conflict(const Hello& hello) const;
  /// Whether all others of its group wait.
  [[nodiscard]] bool would_complete(const Hello& hello) const;
  /// Notes that a rank was refused. Those of its group that wait for it receive how it conflicts
  /// with them, or `why` where it does not.
  void note_refused(const Hello& hello, const std::string& why);
  /// Adds a waiting rank. Returns a key that no consumer has.
  [[nodiscard]] ConsumerKey add(const Hello& hello, std::uint32_t pid);
  /// Removes a waiting rank that has gone. The others of its group still wait. False if no rank
  /// waits by that key.
  bool remove(ConsumerKey key);
  /// Whether `take_complete` has one to take.
  [[nodiscard]] bool has_complete() const;
  /// Takes the ranks of a complete group, in their order, if there is one. They wait no more.
  [[nodiscard]] std::optional<std::vector<WaitingRank>> take_complete();
  /// Takes all ranks that wait. They wait no more.
  [[nodiscard]] std::vector<WaitingRank> take_all();
  /// Which ranks are missing, for the waiting ranks of groups that have changed.
  [[nodiscard]] std::vector<RankNews> take_news();
  // Any thread may call these.
  /// Ranks that wait.
  [[nodiscard]] std::size_t count() const;
  [[nodiscard]] std::vector<FormingGroup> list() const;

 private:
  using Ranks = std::map<std::uint32_t, WaitingRank>;

  mutable std::mutex mutex_;  ///< of the next two
  std::map<std::string, Ranks> groups_;
  std::map<std::string, std::map<std::uint32_t, std::string>> refused_;  ///< of those: why, by rank
  std::set<std::string> changed_;
  std::uint64_t keys_ = 0;  ///< given out so far
};

}  // namespace batchcast::inline v0_1::detail
