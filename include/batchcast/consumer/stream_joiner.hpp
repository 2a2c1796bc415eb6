// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/consumer/member_lock.hpp>
#include <batchcast/consumer_options.hpp>
#include <batchcast/core/deadline.hpp>
#include <batchcast/core/file_descriptor.hpp>
#include <batchcast/core/wait_watch.hpp>
#include <batchcast/join/directory.hpp>
#include <batchcast/join/door.hpp>
#include <batchcast/join/message.hpp>

#include <optional>
#include <string>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// Whether a consumer with these options goes on with the next producer, where the stream can.
inline bool may_ride(const ConsumerOptions& options) noexcept {
  return options.on_producer_gone == OnProducerGone::wait && !options.observes;
}

/// Where a consumer with these options looks for its stream.
[[nodiscard]] inline std::vector<std::string> searched_by(const ConsumerOptions& options) {
  return options.directory.empty() ? candidate_directories() : std::vector{options.directory};
}

/// What a consumer has once the producer let it in.
struct Joined {
  DoorConnection door;
  Welcome welcome;
  std::vector<FileDescriptor> descriptors;
  MemberLock member_lock{};  ///< held as long as the consumer rides
  bool in_loop = false;      ///< of one with `let_go`: it resumed a loop
};

/// Finds a stream, connects to its door and says hello, until a producer answers with a welcome or
/// a refusal. One thread uses it; nothing of it is needed once it has joined.
class StreamJoiner {
 public:
  /// `placement`: what the hello asks for, `host` or a GPU's UUID. `group_deadline`: how long a
  /// rank waits for the others of its group, and for an earlier group of its name to go. The
  /// options must outlive this. `resumes`: it was attached to an earlier producer, which died.
  StreamJoiner(const ConsumerOptions& options, const std::string& placement, Deadline deadline,
               Deadline group_deadline, std::optional<Resumes> resumes = {});

  /// Waits for the stream until the deadline. Throws StreamNotFound at the deadline, Refused and
  /// what else a refusal stands for.
  [[nodiscard]] Joined join();
  /// What a look found where no producer lets the consumer in yet.
  struct KeptOut {
    bool is_opening = false;  ///< a running process has locked the stream, and has no door yet
    std::string reason;       ///< of a producer that has a door; empty where none has
  };

  /// Looks once, and waits for no producer. Nothing where none lets it in yet.
  [[nodiscard]] std::optional<Joined> try_join(KeptOut& kept_out);
  /// Whether a living producer has locked the stream.
  [[nodiscard]] bool is_locked() const;
  /// Throws StreamFailed or Stopped where the last producer was not killed.
  void check_not_ended() const;

 private:
  /// What kept the consumer out, over all places where the stream may be.
  struct Obstacles {
    std::vector<std::string> lines;
    std::string silent;     ///< the process that holds the stream and does not answer
    std::string busy = {};  ///< what a producer said that was to be asked again
    bool met_door = false;  ///< which a process holds open
  };

  [[nodiscard]] std::optional<Joined> look_around(Obstacles& obstacles);
  [[nodiscard]] bool is_opening() const;
  [[nodiscard]] bool asks_again(RefusalKind kind) const noexcept;
  [[nodiscard]] std::optional<Joined> join_at(const StreamPaths& place, Obstacles& obstacles);
  [[nodiscard]] DoorRead say_hello(DoorConnection& connection, DoorMessage& answer);
  [[nodiscard]] bool wait_for_group(DoorConnection& connection, const PeerIdentity& producer,
                                    DoorMessage& answer, ProducerMessage& message);
  [[nodiscard]] bool trusts(const PeerIdentity& producer) const noexcept;
  [[nodiscard]] int answer_timeout_ms() const noexcept;
  [[noreturn]] void throw_not_found(const Obstacles& obstacles) const;

  const ConsumerOptions& options_;
  const Hello hello_;
  WaitWatch waits_;
  const Deadline deadline_;
  const Deadline group_deadline_;
};

}  // namespace batchcast::inline v0_1::detail
