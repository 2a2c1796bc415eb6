// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/group.hpp>
#include <batchcast/core/options.hpp>

#include <algorithm>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What a producer leaves of its stream in case it is killed: the *life file*,
// `<dir>/<stream>/life`. The next producer reads there which trainers go on, and from where.
namespace batchcast::inline v0_1::detail {

/// A place in a stream.
struct StreamPoint {
  std::uint64_t position = 0;

  friend auto operator<=>(const StreamPoint&, const StreamPoint&) = default;
};

/// Names an attachment of a consumer, over all lives of a stream.
struct MemberKey {
  std::string incarnation;  ///< of the ring, 32 hexadecimal digits
  std::uint64_t consumer_id = 0;

  friend auto operator<=>(const MemberKey&, const MemberKey&) = default;
};

/// An attachment of a member to an earlier producer, which it may not have given up yet.
struct EarlierAttachment {
  MemberKey key;
  std::string lock;  ///< a file's name in the stream's directory
};

/// A consumer that goes on with the next producer. It lives as long as any of its locks is held.
struct LifeMember {
  MemberKey key;
  /// Its attachment to an earlier producer, which it has not given up yet: the same consumer.
  std::optional<MemberKey> follows = {};
  std::string lock;  ///< a file's name in the stream's directory
  std::string name;
  std::uint32_t pid = 0;  ///< for messages
  Pace pace = Pace::lockstep;
  BetweenEpochs between_epochs = BetweenEpochs::hold;
  std::string ring = "host";
  bool in_head = false;  ///< and not in the leading ring
  std::uint64_t batch_size = 1;
  StreamPoint floor = {};  ///< it needs nothing below
  bool in_loop = false;    ///< with `let_go`: it has not paused since it was noted last
  Group group = {};        ///< of a rank; no other has what follows
  Tail tail = Tail::keep;
  std::uint64_t ended = 0;            ///< it has reported the end of all epochs below
  std::optional<RankLoss> gone = {};  ///< it lives no more, and others of its group do
  /// Not in the file. A welcome that its producer did not live to see read leaves the consumer with
  /// the attachment before.
  std::vector<EarlierAttachment> earlier = {};

  /// Whether a hello that resumes `attachment` is from this member.
  [[nodiscard]] bool is(const MemberKey& attachment) const noexcept {
    return key == attachment || std::any_of(earlier.begin(), earlier.end(),
                                            [&](const auto& one) { return one.key == attachment; });
  }

  /// Whether the producer waits for it at its floor.
  [[nodiscard]] bool gates() const noexcept {
    return !gone && pace == Pace::lockstep && (between_epochs == BetweenEpochs::hold || in_loop);
  }
};

/// Where a member is now.
struct MemberPlace {
  StreamPoint floor = {};
  bool in_loop = false;
  std::uint64_t ended = 0;  ///< of a rank

  friend bool operator==(const MemberPlace&, const MemberPlace&) = default;
};

/// How a producer was started, where another process may start it again.
struct StartedWith {
  std::vector<std::string> words = {};  ///< the first is the program; none: it cannot be started
  std::string directory = {};           ///< its working directory
  std::vector<std::string> environment = {};  ///< `NAME=value` each, of what matters to it
};

/// The samples that a producer was making when it was killed, as the trainers saw on its board.
struct DiedAt {
  std::uint64_t from = 0;               ///< what was published
  std::uint64_t to = 0;                 ///< below it all was handed out
  std::vector<std::uint64_t> ids = {};  ///< of the first samples, where the order is known
  std::vector<std::string> names = {};  ///< of the same, or more: such as their files
};

struct Life {
  std::string identity;     ///< of the stream, 32 hexadecimal digits
  std::string incarnation;  ///< of the producer's host ring
  std::uint32_t pid = 0;    ///< of the producer, for messages
  StreamPoint position = {};
  std::uint64_t epoch = 0;
  /// What was published at most, by this producer or those before, when this one began. It counts
  /// from the last jump back.
  std::uint64_t greatest = 0;
  /// That many producers in a row were started by themselves, and killed before they passed it.
  std::uint32_t deaths = 0;
  std::optional<DiedAt> died = {};  ///< one before, of which trainers saw that; none came further
  StartedWith started = {};
  std::string grid = {};  ///< Grid::to_json, of a stream that is laid out by one
  std::vector<LifeMember> members = {};
  /// Not in the file: those of it that hold no lock. They have died, or a person removed the
  /// stream's directory with the locks. No place is kept for them; who comes was a member.
  std::vector<LifeMember> lost = {};
  /// What was set while it was served, by name.
  std::map<std::string, std::string> settings = {};
  /// By position: the ids of samples that stand in for bad ones.
  std::map<std::uint64_t, std::uint64_t> stand_ins = {};
};

/// The same once the producer that left this life was killed.
[[nodiscard]] inline std::uint32_t deaths_in_a_row(const Life& left) noexcept {
  return left.position.position > left.greatest ? 0 : left.deaths + 1;
}
inline constexpr std::uint32_t give_up_after_default = 3;
/// In the environment of a producer that another process starts again: the deaths before it.
inline constexpr const char* deaths_variable = "BATCHCAST_DEATHS_IN_A_ROW";
/// Why no process starts such a stream again.
[[nodiscard]] std::string given_up_text(const std::string& stream, const Life& left,
                                        std::uint32_t deaths);

/// Of this process, with these words.
[[nodiscard]] StartedWith started_here(std::vector<std::string> words);

[[nodiscard]] std::string to_json(const Life& life);
/// Nothing for a text that is no life file of this version. Leaves out members that are wrong.
[[nodiscard]] std::optional<Life> life_from(std::string_view json);

}  // namespace batchcast::inline v0_1::detail
