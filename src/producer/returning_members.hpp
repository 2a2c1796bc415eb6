// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/limits.hpp>
#include <batchcast/join/message.hpp>
#include "door/door_server.hpp"
#include "life/life.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// The member that a hello names.
[[nodiscard]] MemberKey member_of(const Resumes& resumes);

/// Whether that consumer goes on within the loop that it began with an earlier producer.
[[nodiscard]] inline bool is_in_loop(const Hello& hello) noexcept {
  return hello.resumes && hello.resumes->in_loop;
}

/// Whether that hello is from `member`, as the rank that it was.
[[nodiscard]] bool is_from(const LifeMember& member, const Hello& hello);

/// A hello that waits at the door until it is decided where the stream goes on.
struct WaitingHello {
  ConsumerKey key = 0;
  Hello hello;
  std::uint32_t pid = 0;
  /// What it resumes is no member of the life file: it has no say in where the stream goes on.
  bool is_stranger = false;

  /// Where it goes on; nothing for a newcomer, a stranger, or between two loops.
  [[nodiscard]] std::optional<std::uint64_t> place() const noexcept {
    const bool has_place = is_in_loop(hello) && hello.join == Join::at && !is_stranger;
    const bool is_near = hello.cursor < limits::cursor_limit;  // else `join` refuses it
    return has_place && is_near ? std::optional(hello.cursor) : std::nullopt;
  }
  [[nodiscard]] bool gates() const noexcept { return hello.pace == Pace::lockstep; }
};

/// The consumers of an earlier producer of the stream, which come back one after the other. None
/// gets a place before it is decided where the stream goes on. Newcomers wait with them, and so do
/// groups. Belongs to the door's thread.
class ReturningMembers {
 public:
  /// No hello waits longer than this and a tick of the door.
  static constexpr std::uint64_t gather_ns = 200'000'000;

  /// Those are to come, and the stream was there: of the life file. `capacity`: of a ring.
  void expect(const Life& life, std::uint64_t capacity);
  [[nodiscard]] bool expects_any() const noexcept { return life_.has_value(); }
  /// Whether that hello is to wait: the first one begins the wait of all.
  [[nodiscard]] bool is_to_wait(const Hello& hello) const noexcept {
    return !is_decided_ && (is_gathering() || hello.resumes || life_);
  }
  [[nodiscard]] bool is_gathering() const noexcept { return !waiting_.empty() || group_waits_; }
  /// Whether a complete group waits for its places. While members are to come, it begins the wait
  /// as a newcomer does.
  void note_group(bool waits, std::uint64_t now_ns) noexcept;
  [[nodiscard]] bool is_decided() const noexcept { return is_decided_; }
  /// Returns a key that no consumer has. Where a life file is known, one that resumes what is not
  /// in it is a stranger.
  [[nodiscard]] ConsumerKey add(const Hello& hello, std::uint32_t pid, std::uint64_t now_ns);
  /// Removes one that has gone. False if none waits by that key.
  bool remove(ConsumerKey key);
  /// Whether all that are expected at their places are there, or waited for long enough.
  [[nodiscard]] bool is_due(std::uint64_t now_ns) const;

  /// A place that is given now: to one that has come, or for one that has not.
  struct Place {
    std::optional<WaitingHello> waiting;
    std::optional<LifeMember> missing;
    std::optional<std::uint64_t> position;
    bool in_head = false;
    [[nodiscard]] bool gates() const noexcept { return !waiting || waiting->gates(); }
    /// The group of which it is a rank; `world` 0 for none.
    [[nodiscard]] Group group() const;
    /// In samples: of a rank, that of its group.
    [[nodiscard]] std::uint64_t whole_batch() const;
  };
  struct Decision {
    /// Where the stream goes on. Empty where newcomers alone wait, and no life is known.
    std::optional<std::uint64_t> begin;
    /// Those of the leading ring first, then those of heads, each from the one furthest behind on.
    /// Newcomers are last.
    std::vector<Place> places;
    std::optional<std::uint64_t> otherwise = {};  ///< it begins there where none of them says

    /// Decides both by `in_head`.
    void settle();
  };
  /// Members of heads get heads again. Without it, the stream goes on where the last of them is.
  void allow_heads() noexcept { heads_are_allowed_ = true; }
  /// From then on no hello waits. `is_alive`: whether a member lives.
  template <class IsAlive>
  [[nodiscard]] Decision decide(std::uint64_t samples_per_epoch, IsAlive&& is_alive) {
    Decision decision;
    for (const LifeMember& member : missing()) {
      if (!is_alive(member)) continue;
      decision.places.push_back({{}, member, place_of(member), is_in_head(member.key)});
    }
    finish(decision, samples_per_epoch);
    return decision;
  }
  /// None of those expected lives any more, and no hello waits.
  void forget() noexcept;
  [[nodiscard]] std::vector<LifeMember> missing() const;

 private:
  [[nodiscard]] bool is_stranger(const Hello& hello) const;
  [[nodiscard]] std::uint64_t place_of(const LifeMember& member) const;
  [[nodiscard]] bool is_in_head(const MemberKey& key) const;
  void finish(Decision& decision, std::uint64_t samples_per_epoch);

  std::optional<Life> life_;
  std::uint64_t capacity_ = 0;
  std::vector<WaitingHello> waiting_;
  bool group_waits_ = false;
  std::uint64_t since_ns_ = 0;  ///< the first of them came
  std::uint64_t keys_ = 0;      ///< given out so far
  bool is_decided_ = false;
  bool heads_are_allowed_ = false;
};

}  // namespace batchcast::inline v0_1::detail
