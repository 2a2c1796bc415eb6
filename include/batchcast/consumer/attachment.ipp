// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/consumer/attachment.hpp>

#include <batchcast/core/clock.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/inline.hpp>
#include <batchcast/core/printable.hpp>
#include <batchcast/core/process_state.hpp>
#include <batchcast/join/absent_stream.hpp>
#include <batchcast/join/directory.hpp>
#include <batchcast/ring/capacity.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <variant>

// Finding the stream and joining it. Its segments are mapped in attachment_fields.ipp; what a
// joined consumer does is in attachment_batches.ipp.
namespace batchcast::inline v0_1::detail {
namespace attachment {

// A waiting consumer notices a new stream within this time and a little.
inline constexpr int look_for_stream_every_ms = 20;
inline constexpr int notice_after_ms = 200;
inline constexpr int handshake_timeout_ms = 5'000;
inline constexpr int handshake_timeout_min_ms = 200;  // a door that is there answers within that

inline Hello hello_of(const ConsumerOptions& options, const Delivery* delivery) {
  Hello hello;
  hello.layout_version = layout_version;
  hello.name = options.name;
  if (hello.name.empty()) {
    hello.name = ::program_invocation_short_name;
    for (char& c : hello.name) c = c >= ' ' && c <= '~' ? c : '?';
  }
  hello.name.resize(std::min(hello.name.size(), limits::consumer_name_bytes_max));
  hello.batch_size = options.batch_size;
  hello.pace = options.pace;
  hello.join = options.join;
  hello.cursor = options.cursor;
  hello.between_epochs = options.between_epochs;
  hello.pid = ::getpid();
  hello.observes = options.observes;
  if (!options.placement.is_host()) hello.placement = delivery->id();
  return hello;
}

inline StreamPlaces places_of(const ConsumerOptions& options) {
  if (options.directory.empty()) return find_stream(options.stream);
  return {{stream_paths(options.directory, options.stream)}, {}};
}

inline constexpr const char* no_permission = ": no permission";

inline std::string what_stood_in_the_way(const std::string& stream,
                                         const std::vector<std::string>& obstacles) {
  const bool denied = std::any_of(obstacles.begin(), obstacles.end(), [](const std::string& text) {
    return text.ends_with(no_permission);
  });
  if (!denied) return "batchcast: no producer serves a stream `" + stream + "`";
  const std::string uid = std::to_string(::geteuid());
  return "batchcast: this user (" + uid + ") has no permission to reach the stream `" + stream +
         "`: another user's producer must admit it with `serve --allow-uid " + uid + "`";
}

/// The process behind a door that opens and says nothing.
inline std::string silent_process(std::int32_t pid) {
  if (pid <= 0) return "a process that this one cannot see";
  const std::string text = "process " + std::to_string(pid);
  return is_stopped(static_cast<std::uint32_t>(pid))
             ? text + ", which is stopped (`kill -CONT " + std::to_string(pid) + "` lets it go on),"
             : text;
}

inline std::string join_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += "\n  " + line;
  return text;
}

inline std::vector<std::string> searched_by(const ConsumerOptions& options) {
  return options.directory.empty() ? candidate_directories() : std::vector{options.directory};
}

inline std::string hints_of(const ConsumerOptions& options) {
  return why_absent(options.stream, searched_by(options));
}

[[noreturn]] inline void say_not_found(const ConsumerOptions& options,
                                       const std::vector<std::string>& obstacles,
                                       const std::string& silent, std::int64_t waited_ms) {
  const std::string waited = " (waited " + std::to_string(waited_ms / 1000) + " s).";
  if (!silent.empty()) {
    throw StreamNotFound("batchcast: " + silent + " holds stream `" + options.stream +
                         "` and does not answer" + waited + join_lines(obstacles) +
                         "\nWait longer where it is only busy, or end it with `kill`; `batchcast "
                         "ls` calls it silent until it answers.");
  }
  throw StreamNotFound(what_stood_in_the_way(options.stream, obstacles) + waited +
                       hints_of(options) + " Looked in" + join_lines(searched_by(options)) +
                       (obstacles.empty() ? "" : "\nand met" + join_lines(obstacles)) +
                       "\nStart one with `batchcast serve … --stream " + options.stream +
                       "`, see what there is with `batchcast ls`, or set BATCHCAST_DIR to "
                       "the directory that `serve` prints.");
}

}  // namespace attachment

BATCHCAST_INLINE std::unique_ptr<Delivery> delivery_for(const ConsumerOptions& options) {
  if (!options.placement.is_host()) {
    if (options.pin) {
      throw InvalidArgument(
          "batchcast: `pin` is for consumers in host memory: batches with placement " +
          options.placement.text() + " are on the GPU already. Leave it out.");
    }
    return make_delivery(settled(options.placement).device(), options.log);
  }
  return options.pin ? make_delivery(options.pin_device, options.log) : nullptr;
}

BATCHCAST_INLINE Attachment::Attachment(const ConsumerOptions& options, std::uint64_t started_ns)
    : options_(options), started_ns_(started_ns) {
  options_.placement = settled(options_.placement);
}

BATCHCAST_INLINE std::shared_ptr<Attachment> Attachment::attach(const ConsumerOptions& options) {
  check_stream_name(options.stream);
  check_consumer_name(options.name);
  if (options.batch_size == 0) {
    throw InvalidArgument("batchcast: batch_size is 0. A batch has at least one sample.");
  }
  const std::uint64_t started_ns = now_ns();
  const std::shared_ptr<Attachment> attachment(new Attachment(options, started_ns), end);
  // First: no trainer has to wait for a stream that it cannot use.
  attachment->delivery_ = delivery_for(attachment->options_);
  attachment->stages_ = options.pin && (attachment->copies() || options.observes ||
                                        !attachment->delivery_->pins_in_place());
  bool noticed = false;
  for (;;) {
    const StreamPlaces places = attachment::places_of(options);
    std::vector<std::string> obstacles = places.distrusted;
    obstacles.insert(obstacles.end(), places.denied.begin(), places.denied.end());
    std::string silent;
    for (const StreamPaths& place : places.places) {
      Obstacle obstacle;
      if (attachment->connect(place, obstacle)) return attachment;
      if (!obstacle.text.empty()) obstacles.push_back(obstacle.text);
      if (!obstacle.silent.empty()) silent = obstacle.silent;
    }
    const auto waited_ms = static_cast<std::int64_t>((now_ns() - started_ns) / 1'000'000);
    if (options.connect_timeout_ms >= 0 && waited_ms >= options.connect_timeout_ms) {
      attachment::say_not_found(options, obstacles, silent, waited_ms);
    }
    if (!noticed && waited_ms >= attachment::notice_after_ms) {
      noticed = true;
      attachment->log(LogLevel::info, "waiting for a producer to serve stream `" + options.stream +
                                          "`." + attachment::hints_of(options) +
                                          attachment::join_lines(obstacles));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(attachment::look_for_stream_every_ms));
  }
}

BATCHCAST_INLINE bool Attachment::connect(const StreamPaths& place, Obstacle& obstacle) {
  DoorAttempt attempt = connect_door(place.door);
  if (attempt.answer == DoorAnswer::denied) obstacle.text = place.door + attachment::no_permission;
  if (attempt.answer == DoorAnswer::crowded) {
    obstacle = {place.door + ": so many wait there that no other gets in", "its producer"};
  }
  if (attempt.answer != DoorAnswer::open) return false;
  const PeerIdentity producer = peer_identity(attempt.connection);
  const bool trusted = producer.uid == ::geteuid() || producer.uid == 0 ||
                       std::find(options_.allow_uids.begin(), options_.allow_uids.end(),
                                 producer.uid) != options_.allow_uids.end();
  if (!trusted) {
    obstacle.text = place.door + ": served by user " + std::to_string(producer.uid) +
                    ", which this consumer does not trust (allow_uids)";
    return false;
  }
  DoorMessage answer;
  const FileDescriptor pidfd = own_pidfd();
  const int descriptors[] = {pidfd.get()};
  const DoorRead read = attempt.connection.ask(
      encode(attachment::hello_of(options_, delivery_.get())), descriptors, answer,
      welcome_descriptors_before_segments + limits::fields_max, patience_ms());
  if (read == DoorRead::timed_out) {
    obstacle.silent = attachment::silent_process(producer.pid);
    obstacle.text = place.door + ": " + obstacle.silent + " does not answer";
  }
  if (read != DoorRead::message) return false;  // it went away, or is overrun: connect again
  ProducerMessage message = decode_from_producer(answer.text);
  if (const auto* refusal = std::get_if<Refusal>(&message)) {
    if (refusal->kind == RefusalKind::busy) return false;
    throw_refused(*refusal);
  }
  auto* welcome = std::get_if<Welcome>(&message);
  if (welcome == nullptr) {
    throw Refused("batchcast: the producer of stream `" + options_.stream +
                  "` answered something that is neither a welcome nor a refusal.");
  }
  if (answer.descriptors_lost) {
    throw Refused("batchcast: the file descriptors of stream `" + options_.stream +
                  "` did not arrive: this process has too many files open. Raise the limit "
                  "(`ulimit -n`).");
  }
  door_ = std::move(attempt.connection);
  adopt(std::move(*welcome), std::move(answer.descriptors));
  return true;
}

BATCHCAST_INLINE int Attachment::patience_ms() const noexcept {
  if (options_.connect_timeout_ms < 0) return attachment::handshake_timeout_ms;
  const auto waited_ms = static_cast<std::int64_t>((now_ns() - started_ns_) / 1'000'000);
  const std::int64_t left_ms = options_.connect_timeout_ms - waited_ms;
  return static_cast<int>(std::clamp<std::int64_t>(left_ms, attachment::handshake_timeout_min_ms,
                                                   attachment::handshake_timeout_ms));
}

BATCHCAST_INLINE void Attachment::adopt(Welcome welcome, std::vector<FileDescriptor> descriptors) {
  welcome_ = std::move(welcome);
  check_offer(descriptors.size());
  const Seals fixed_size = Seals::shrink | Seals::grow;
  const Segment board = Segment::adopt("board", std::move(descriptors[0]), welcome_.board_bytes,
                                       fixed_size | Seals::future_write);
  board_.emplace(board, MapMode::read_only);
  check_board({board_->data(), welcome_.board_bytes});
  const Segment desk =
      Segment::adopt("desk", std::move(descriptors[1]), welcome_.desk_bytes, fixed_size);
  if (welcome_.desk_bytes < sizeof(Desk) ||
      welcome_.consumer_index >= this->board().head().consumers_max) {
    throw Refused("batchcast: the welcome of stream `" + options_.stream +
                  "` describes a desk that cannot be.");
  }
  desk_ = std::make_unique<Mapping>(desk, MapMode::read_write);
  // In a forked child the desk is not there: nothing it does can reach the producer.
  ::madvise(desk_->data(), desk_->bytes(), MADV_DONTFORK);
  producer_pidfd_ = std::move(descriptors[2]);
  map_fields(descriptors);
  RingReader::Options reader;
  reader.pace = options_.pace;
  reader.tail = options_.tail;
  reader.on_miss = options_.on_miss;
  reader.spin_ns = options_.spin_us * 1000;
  reader.stream = options_.stream;
  if (on_device()) reader.memory_option = "--device-memory";
  reader_ = std::make_unique<RingReader>(
      this->board(), *reinterpret_cast<Desk*>(desk_->data()),
      SampleIds(shown_windows_.back(), windows_.back(), written_), *this, std::move(reader));
  paused_ = options_.observes || options_.between_epochs == BetweenEpochs::let_go;
  // Where its first loop will join is where it stands.
  if (paused_ && options_.join == Join::at) reader_->move_to(options_.cursor);
  note_start();
}

BATCHCAST_INLINE void Attachment::note_start() {
  for (const std::string& note : welcome_.notes) {
    notes_ += notes_.empty() ? "" : "; ";
    notes_ += note;
  }
  if (!notes_.empty()) log(LogLevel::info, "`" + welcome_.name + "`: " + notes_);
}

BATCHCAST_INLINE Attachment::~Attachment() {
  if (!in_forked_child()) {
    leave();
    return;
  }
  if (populator_) populator_->abandon();
  static_cast<void>(delivery_.release());  // its calls of the driver would be the parent's
  // The kernel left a hole here where the desk was, and something else may lie there by now.
  static_cast<void>(desk_.release());
}

BATCHCAST_INLINE void Attachment::end(Attachment* attachment) noexcept {
  const auto destroy = [](void* it) noexcept { delete static_cast<Attachment*>(it); };
  if (!attachment->delivery_ || attachment->in_forked_child()) return destroy(attachment);
  attachment->delivery_->end_apart(attachment, destroy);
}

BATCHCAST_INLINE void Attachment::leave() noexcept {
  if (std::exchange(left_, true) || !door_) return;
  try {
    static_cast<void>(door_.send(encode(Bye{})));
  } catch (const std::exception&) {
    // The shutdown says the same.
  }
  door_.shutdown();
}

BATCHCAST_INLINE void Attachment::log(LogLevel level, const std::string& text) const {
  log_to(options_.log, level, text);
}

}  // namespace batchcast::inline v0_1::detail
