// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/consumer/stream_joiner.hpp>

#include <batchcast/consumer/delivery.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/inline.hpp>
#include <batchcast/core/log.hpp>
#include <batchcast/core/process_state.hpp>
#include <batchcast/join/absent_stream.hpp>
#include <batchcast/join/stream_lock.hpp>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>

namespace batchcast::inline v0_1::detail {
namespace stream_joiner {

// A waiting consumer notices a new stream within this time and a little.
inline constexpr int look_for_stream_every_ms = 20;
inline constexpr int look_for_group_every_ms = 100;
inline constexpr int notice_after_ms = 200;
inline constexpr int answer_timeout_max_ms = 5'000;
inline constexpr int answer_timeout_min_ms = 200;  // a producer that is not busy answers within it

inline constexpr int connect_timeout_ms = 1'000;  // where many wait at the door
inline constexpr std::size_t descriptors_max =
    welcome_descriptors_before_segments + limits::fields_max + 1;  // the lock of a member

/// The name of a consumer whose options give none.
inline std::string own_name(const Group& group) {
  if (group.world != 0) {
    const std::string rank = text(":{}", group.rank);
    return group.name.substr(0, limits::consumer_name_bytes_max - rank.size()) + rank;
  }
  std::string name = ::program_invocation_short_name;
  for (char& c : name) c = c >= ' ' && c <= '~' ? c : '?';
  return name;
}

inline Hello hello_of(const ConsumerOptions& options, const std::string& placement,
                      std::optional<Resumes> resumes) {
  Hello hello;
  hello.layout_version = layout_version;
  hello.name = options.name.empty() ? own_name(options.group) : options.name;
  hello.name.resize(std::min(hello.name.size(), limits::consumer_name_bytes_max));
  hello.batch_size = options.batch_size;
  if (options.budget.is_set()) {  // the default is no limit then
    if (options.batch_size == ConsumerOptions().batch_size) hello.batch_size = 1;
    hello.budget = options.budget;
    hello.oversize = options.oversize;
  }
  if (options.window.is_set()) {
    hello.batch_size = 1;
    hello.window = options.window;
  }
  hello.pace = options.pace;
  hello.join = options.join;
  hello.cursor = options.cursor;
  hello.cursor_row = options.cursor_row;
  hello.between_epochs = options.between_epochs;
  hello.pid = ::getpid();
  hello.observes = options.observes;
  hello.placement = placement;
  hello.rides = may_ride(options);
  hello.resumes = std::move(resumes);
  if (options.group.world == 0) return hello;
  hello.group = options.group.name;
  hello.rank = options.group.rank;
  hello.world = options.group.world;
  hello.job_first = options.group.job_first;
  hello.job_world = options.group.job_world;
  hello.tail = options.tail;
  return hello;
}

inline StreamPlaces places_of(const ConsumerOptions& options) {
  if (options.directory.empty()) return find_stream(options.stream);
  return {{stream_paths(options.directory, options.stream)}, {}};
}

inline constexpr const char* no_permission = ": no permission";

inline std::string what_stood_in_the_way(const std::string& stream,
                                         const std::vector<std::string>& obstacles) {
  const bool denied = std::any_of(obstacles.begin(), obstacles.end(), [](const std::string& line) {
    return line.ends_with(no_permission);
  });
  if (!denied) return text("batchcast: no producer serves a stream `{}`", stream);
  const uid_t uid = ::geteuid();
  return text(
      "batchcast: this user ({}) has no permission to reach the stream `{}`: another user's "
      "producer must admit it with `serve --allow-uid {}`",
      uid, stream, uid);
}

/// The process behind a door that opens and says nothing.
inline std::string silent_process(std::int32_t pid) {
  if (pid <= 0) return "a process that this one cannot see";
  if (!is_stopped(static_cast<std::uint32_t>(pid))) return text("process {}", pid);
  return text("process {}, which is stopped (`kill -CONT {}` continues it),", pid, pid);
}

inline std::string join_lines(const std::vector<std::string>& lines) {
  std::string joined;
  for (const std::string& line : lines) joined += text("\n  {}", line);
  return joined;
}

/// What a producer said, for the end of another text.
inline std::string as_sentence(std::string said) {
  constexpr std::string_view prefix = "batchcast: ";
  if (said.starts_with(prefix)) said.erase(0, prefix.size());
  if (!said.empty() && !said.ends_with('.')) said += '.';
  return said;
}

inline std::string hints_of(const ConsumerOptions& options) {
  return why_absent(options.stream, searched_by(options));
}

/// Where no log is given, only warnings are shown: of a stream that has failed the user learns why
/// before the time-out. Otherwise it is usual that a trainer comes first.
inline LogLevel notice_level(const ConsumerOptions& options) {
  const std::vector<std::string> bases = searched_by(options);
  const bool failed = std::any_of(bases.begin(), bases.end(), [&](const std::string& base) {
    return ::access(stream_paths(base, options.stream).failure.c_str(), R_OK) == 0;
  });
  return failed ? LogLevel::warning : LogLevel::info;
}

}  // namespace stream_joiner

BATCHCAST_INLINE StreamJoiner::StreamJoiner(const ConsumerOptions& options,
                                            const std::string& placement, Deadline deadline,
                                            Deadline group_deadline, std::optional<Resumes> resumes)
    : options_(options),
      hello_(stream_joiner::hello_of(options, placement, std::move(resumes))),
      waits_(options.while_waiting),
      deadline_(deadline),
      group_deadline_(group_deadline) {}

BATCHCAST_INLINE Joined StreamJoiner::join() {
  for (bool noticed = false;;) {
    Obstacles obstacles;
    if (std::optional<Joined> joined = look_around(obstacles)) return std::move(*joined);
    const bool waits_for_group = options_.group.world != 0 && !obstacles.busy.empty();
    if ((waits_for_group ? group_deadline_ : deadline_).over()) throw_not_found(obstacles);
    if (!noticed && deadline_.waited_ms() >= stream_joiner::notice_after_ms) {
      noticed = true;
      report(options_.log, stream_joiner::notice_level(options_),
             text("waiting for a producer to serve stream `{}`.{}{}", options_.stream,
                  stream_joiner::hints_of(options_), stream_joiner::join_lines(obstacles.lines)));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(stream_joiner::look_for_stream_every_ms));
    waits_.look();
  }
}

BATCHCAST_INLINE std::optional<Joined> StreamJoiner::look_around(Obstacles& obstacles) {
  const StreamPlaces places = stream_joiner::places_of(options_);
  obstacles.lines = places.distrusted;
  obstacles.lines.insert(obstacles.lines.end(), places.denied.begin(), places.denied.end());
  for (const StreamPaths& place : places.places) {
    if (std::optional<Joined> joined = join_at(place, obstacles)) return joined;
  }
  return std::nullopt;
}

BATCHCAST_INLINE std::optional<Joined> StreamJoiner::try_join(KeptOut& kept_out) {
  Obstacles obstacles;
  if (std::optional<Joined> joined = look_around(obstacles)) return joined;
  kept_out.is_opening = !obstacles.met_door && is_opening();
  kept_out.reason = stream_joiner::as_sentence(obstacles.busy);
  if (kept_out.reason.empty() && !obstacles.silent.empty()) {
    kept_out.reason = text("{} holds the stream and does not answer.", obstacles.silent);
  }
  return std::nullopt;
}

/// A process that is stopped opens nothing.
BATCHCAST_INLINE bool StreamJoiner::is_opening() const {
  const std::vector<std::string> bases = searched_by(options_);
  return std::any_of(bases.begin(), bases.end(), [&](const std::string& base) {
    const LockState lock = look_at_lock(stream_paths(base, options_.stream).lock);
    return lock.held && !(lock.pid > 0 && is_stopped(static_cast<std::uint32_t>(lock.pid)));
  });
}

BATCHCAST_INLINE bool StreamJoiner::is_locked() const {
  const std::vector<std::string> bases = searched_by(options_);
  return std::any_of(bases.begin(), bases.end(), [&](const std::string& base) {
    return look_at_lock(stream_paths(base, options_.stream).lock).held;
  });
}

BATCHCAST_INLINE void StreamJoiner::check_not_ended() const {
  const std::optional<LastEnd> end = last_end(options_.stream, searched_by(options_));
  if (!end) return;
  const std::string stream = text("batchcast: stream `{}` ", options_.stream);
  if (end->failed) throw StreamFailed(text("{}failed: {}", stream, end->reason));
  throw Stopped(text("{}was ended: {}", stream, end->reason));
}

/// One that resumes waits for a place to become free.
BATCHCAST_INLINE bool StreamJoiner::asks_again(RefusalKind kind) const noexcept {
  return kind == RefusalKind::busy || (hello_.resumes && kind == RefusalKind::full);
}

/// Nothing where the consumer has to try again.
BATCHCAST_INLINE std::optional<Joined> StreamJoiner::join_at(const StreamPaths& place,
                                                             Obstacles& obstacles) {
  DoorAttempt attempt =
      connect_door(place.door, waits_.slice_ms(stream_joiner::connect_timeout_ms));
  if (attempt.answer == DoorAnswer::denied) {
    obstacles.lines.push_back(place.door + stream_joiner::no_permission);
  }
  if (attempt.answer == DoorAnswer::crowded) {
    obstacles.lines.push_back(
        text("{}: too many processes wait there, and no other gets in", place.door));
    obstacles.silent = "its producer";
  }
  if (attempt.answer != DoorAnswer::absent && attempt.answer != DoorAnswer::unserved) {
    obstacles.met_door = true;
  }
  if (attempt.answer != DoorAnswer::open) return std::nullopt;
  const PeerIdentity producer = peer_identity(attempt.connection);
  if (!trusts(producer)) {
    obstacles.lines.push_back(
        text("{}: served by user {}, which this consumer does not trust (allow_uids)", place.door,
             producer.uid));
    return std::nullopt;
  }
  DoorMessage answer;
  const DoorRead read = say_hello(attempt.connection, answer);
  if (read == DoorRead::timed_out) {
    obstacles.silent = stream_joiner::silent_process(producer.pid);
    obstacles.lines.push_back(text("{}: {} does not answer", place.door, obstacles.silent));
  }
  if (read != DoorRead::message) return std::nullopt;  // the producer left, or is overrun
  ProducerMessage message = decode_from_producer(answer.text);
  if (std::holds_alternative<Forming>(message) &&
      !wait_for_group(attempt.connection, producer, answer, message)) {
    return std::nullopt;
  }
  if (const auto* refusal = std::get_if<Refusal>(&message)) {
    if (!asks_again(refusal->kind)) throw_refused(*refusal);
    obstacles.lines.push_back(text("{}: {}", place.door, refusal->text));
    obstacles.busy = refusal->text;
    return std::nullopt;
  }
  auto* welcome = std::get_if<Welcome>(&message);
  if (welcome == nullptr) {
    throw Refused(
        text("batchcast: the producer of stream `{}` answered something that is neither a welcome "
             "nor a refusal.",
             options_.stream));
  }
  if (answer.descriptors_lost) {
    throw SystemError(
        text("batchcast: the file descriptors of stream `{}` did not arrive; raise the limit "
             "(`ulimit -n`)",
             options_.stream),
        EMFILE);
  }
  Joined joined{std::move(attempt.connection), std::move(*welcome), std::move(answer.descriptors)};
  if (joined.welcome.has_member_lock && !joined.descriptors.empty()) {
    joined.member_lock.take(std::move(joined.descriptors.back()));
    joined.descriptors.pop_back();
  }
  joined.in_loop = hello_.resumes && hello_.resumes->in_loop;
  return joined;
}

/// Waits for the producer's answer.
BATCHCAST_INLINE DoorRead StreamJoiner::say_hello(DoorConnection& connection, DoorMessage& answer) {
  const FileDescriptor pidfd = own_pidfd();
  const int descriptors[] = {pidfd.get()};
  int left_ms = answer_timeout_ms();
  bool said = false;
  DoorRead read = DoorRead::timed_out;
  static_cast<void>(waits_.in_slices(left_ms, [&](int slice_ms) {
    read = std::exchange(said, true)
               ? connection.receive(answer, stream_joiner::descriptors_max, slice_ms)
               : connection.ask(encode(hello_), descriptors, answer, stream_joiner::descriptors_max,
                                slice_ms);
    return read != DoorRead::timed_out;
  }));
  return read;
}

/// Waits until the producer has an answer for this rank; false where the producer is gone.
BATCHCAST_INLINE bool StreamJoiner::wait_for_group(DoorConnection& connection,
                                                   const PeerIdentity& producer,
                                                   DoorMessage& answer, ProducerMessage& message) {
  const std::string group = text("group `{}` of stream `{}`", options_.group.name, options_.stream);
  std::string missing;
  for (bool noticed = false;;) {
    const auto* forming = std::get_if<Forming>(&message);
    if (forming == nullptr) return true;
    missing = forming->missing;
    const int left_ms = group_deadline_.left_ms();
    const int look_ms = waits_.slice_ms(stream_joiner::look_for_group_every_ms);
    const DoorRead read = connection.receive(answer, stream_joiner::descriptors_max,
                                             left_ms < 0 ? look_ms : std::min(left_ms, look_ms));
    if (read == DoorRead::closed || read == DoorRead::oversized) return false;
    if (read == DoorRead::message) {
      message = decode_from_producer(answer.text);
      continue;
    }
    if (producer.pidfd && is_dead(producer.pidfd)) return false;
    if (group_deadline_.over()) {
      static_cast<void>(connection.send(encode(Bye{})));  // its rank is free at once
      throw Refused(
          text("batchcast: {} is not complete after {}: {}. Start these ranks, or all with a "
               "smaller world, or wait longer for them (connect_timeout_ms; --connect-timeout of "
               "`batchcast consume`).",
               group, group_deadline_.waited_text(), missing));
    }
    waits_.look();
    if (!noticed && group_deadline_.waited_ms() >= stream_joiner::notice_after_ms) {
      noticed = true;
      report(options_.log, LogLevel::info, text("waiting for the ranks of {}: {}", group, missing));
    }
  }
}

BATCHCAST_INLINE bool StreamJoiner::trusts(const PeerIdentity& producer) const noexcept {
  return producer.uid == ::geteuid() || producer.uid == 0 ||
         std::find(options_.allow_uids.begin(), options_.allow_uids.end(), producer.uid) !=
             options_.allow_uids.end();
}

BATCHCAST_INLINE int StreamJoiner::answer_timeout_ms() const noexcept {
  const int left_ms = deadline_.left_ms();
  if (left_ms < 0) return stream_joiner::answer_timeout_max_ms;
  return std::clamp(left_ms, stream_joiner::answer_timeout_min_ms,
                    stream_joiner::answer_timeout_max_ms);
}

BATCHCAST_INLINE void StreamJoiner::throw_not_found(const Obstacles& obstacles) const {
  if (!obstacles.busy.empty()) throw Refused(obstacles.busy);
  const std::string waited = text(" (waited {}).", deadline_.waited_text());
  if (!obstacles.silent.empty()) {
    throw StreamNotFound(text(
        "batchcast: {} holds stream `{}` and does not answer{}{}\nWait longer where it is only "
        "busy, or end it with `kill`; `batchcast ls` calls it silent until it answers.",
        obstacles.silent, options_.stream, waited, stream_joiner::join_lines(obstacles.lines)));
  }
  throw StreamNotFound(text(
      "{}{}{} Looked in{}{}\nStart one with `batchcast serve … --stream {}`, see what there is "
      "with `batchcast ls`, or set BATCHCAST_DIR to the directory that `serve` prints.",
      stream_joiner::what_stood_in_the_way(options_.stream, obstacles.lines), waited,
      stream_joiner::hints_of(options_), stream_joiner::join_lines(searched_by(options_)),
      obstacles.lines.empty() ? ""
                              : text("\nand met{}", stream_joiner::join_lines(obstacles.lines)),
      options_.stream));
}

}  // namespace batchcast::inline v0_1::detail
