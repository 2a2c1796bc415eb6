// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "producer/core.hpp"

#include <batchcast/core/bytes_text.hpp>
#include <batchcast/core/clock.hpp>
#include <batchcast/core/error.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <utility>

// Who comes in by the door, and who goes out of it.
namespace batchcast::inline v0_1::detail {
namespace {

/// A consumer's desk: its memory, and the producer's own mapping of it.
struct DeskMemory {
  Segment segment;
  Mapping mapping;

  explicit DeskMemory(Segment made)
      : segment(std::move(made)), mapping(segment, MapMode::read_write) {
    // Not against future writes: it is the consumer's to write.
    segment.seal(Seals::shrink | Seals::grow | Seals::seal);
  }
};

RefusalKind kind_of(NotAdmitted::Reason reason) noexcept {
  switch (reason) {
    case NotAdmitted::Reason::full:
      return RefusalKind::full;
    case NotAdmitted::Reason::finished:
      return RefusalKind::finished;
    case NotAdmitted::Reason::stopped:
      return RefusalKind::stopped;
    case NotAdmitted::Reason::failed:
      return RefusalKind::failed;
    case NotAdmitted::Reason::cursor_gone:
      return RefusalKind::cursor_gone;
  }
  return RefusalKind::busy;
}

}  // namespace

std::optional<ServedRing*> ProducerCore::ring_at(const std::string& placement) const {
  if (placement == Placement().text()) return nullptr;
  for (const auto& ring : further_) {
    if (ring->id() == placement) return ring.get();
  }
  return std::nullopt;
}

Refusal ProducerCore::not_served_at(const std::string& placement) const {
  std::string where = "in host memory";
  for (const auto& ring : further_) {
    where += (ring == further_.back() ? " and on " : ", on ") + ring->placement().text() + " (" +
             ring->id() + ")";
  }
  return {RefusalKind::placement,
          "batchcast: stream `" + options_.stream + "` is served " + where + ", not on the GPU " +
              placement +
              ". Start its producer with --place and the number that this GPU has there "
              "(`batchcast doctor` lists them), or attach with placement `host`"};
}

std::optional<Refusal> ProducerCore::refusal_of_size(std::uint64_t batch_size,
                                                     ServedRing* ring) const {
  const std::uint64_t capacity = ring != nullptr ? ring->capacity() : plan_.capacity;
  if (batch_size <= capacity) return std::nullopt;
  const std::string which =
      ring != nullptr ? "the ring on " + ring->placement().text() : std::string("the ring");
  const std::string cure =
      ring != nullptr ? "--device-memory " + memory_argument(ring->memory_for_samples(batch_size))
                      : "--memory " + memory_argument(memory_for_samples(batch_size));
  return Refusal{RefusalKind::ring_too_small,
                 "batchcast: stream `" + options_.stream + "`: a batch of " +
                     std::to_string(batch_size) + " samples does not fit into " + which +
                     ", which spans " + std::to_string(capacity) + ". Serve it with " + cure +
                     " or more, or ask for smaller batches"};
}

AdmissionReply ProducerCore::admit(const Hello& hello, const PeerIdentity& peer) {
  const std::string stream = "batchcast: stream `" + options_.stream + "`: ";
  if (hello.world != 0) {
    return Refusal{RefusalKind::group,
                   stream + "its producer serves no groups of ranks yet (rank " +
                       std::to_string(hello.rank) + " of " + std::to_string(hello.world) +
                       " asked). Attach each rank as a consumer of its own, without a group"};
  }
  const auto found = ring_at(hello.placement);
  if (!found) return not_served_at(hello.placement);
  ServedRing* const ring = *found;
  if (auto refusal = refusal_of_size(hello.batch_size, ring)) return std::move(*refusal);
  std::shared_ptr<DeskMemory> memory;
  try {
    memory = std::make_shared<DeskMemory>(Segment::create_small("desk", page_bytes()));
  } catch (const Error& error) {
    return Refusal{RefusalKind::busy, stream + "no desk could be made: " + error.what()};
  }
  AdmitRequest request;
  request.name = name_for(hello.name.empty() ? "consumer" : hello.name);
  request.pid = static_cast<std::uint32_t>(peer.pid != 0 ? peer.pid : hello.pid);
  request.batch_size = static_cast<std::uint32_t>(hello.batch_size);
  request.pace = hello.pace;
  request.join = hello.join;
  request.cursor = hello.cursor;
  request.between_epochs = hello.between_epochs;
  request.observes = hello.observes;
  std::shared_ptr<Desk> desk(memory, reinterpret_cast<Desk*>(memory->mapping.data()));
  auto reply = ring != nullptr ? ring->admit(request, std::move(desk))
                               : writer_->admit(request, std::move(desk));
  if (const auto* refusal = std::get_if<NotAdmitted>(&reply)) {
    return Refusal{kind_of(refusal->reason), stream + refusal->text};
  }
  const Admitted& admitted = std::get<Admitted>(reply);
  if (!count_trainers() && ring != nullptr) {
    // It ended while this consumer came, for want of any.
    ring->writer().remove(admitted.index, admitted.consumer_id);
    look_for_demand(ring);
    static_cast<void>(count_trainers());
    return Refusal{RefusalKind::stopped, stream + "it has just ended"};
  }
  {
    const std::lock_guard lock(mutex_);
    seats_[admitted.consumer_id] = {ring, admitted.index, admitted.name};
  }
  log(LogLevel::info,
      "`" + admitted.name + "` (pid " + std::to_string(request.pid) + ") " +
          (request.observes ? std::string("looks on")
                            : "joined at position " + std::to_string(admitted.position)) +
          (ring != nullptr ? " on " + ring->placement().text() : ""));
  Admission admission = welcomed(admitted, ring);
  admission.welcome.desk_bytes = memory->segment.bytes();
  admission.descriptors[1] = memory->segment.fd();
  admission.hold = std::move(memory);
  return admission;
}

Admission ProducerCore::welcomed(const Admitted& admitted, ServedRing* ring) const {
  const Segment& board = ring != nullptr ? ring->board() : *board_segment_;
  Admission admission;
  admission.key = admitted.consumer_id;
  Welcome& welcome = admission.welcome;
  welcome.stream = options_.stream;
  welcome.consumer_index = admitted.index;
  welcome.consumer_id = admitted.consumer_id;
  welcome.name = admitted.name;
  welcome.position = admitted.position;
  welcome.samples_to_come = admitted.samples_to_come;
  welcome.board_bytes = board.bytes();
  constexpr int its_desk = -1;  // put in by the caller, whose it is
  admission.descriptors = {board.fd(), its_desk, pidfd_.get()};
  if (ring != nullptr) {
    ring->offer(welcome, admission.descriptors);
  } else {
    for (const Segment& segment : segments_) {
      welcome.segment_bytes.push_back(segment.bytes());
      admission.descriptors.push_back(segment.fd());
    }
  }
  if (admitted.samples_to_come > 0) {
    std::string note = "joins at position " + std::to_string(admitted.position) + ", " +
                       std::to_string(admitted.samples_to_come) + " samples from now";
    const double rate = samples_per_second_.load(std::memory_order_relaxed);
    const double seconds = static_cast<double>(admitted.samples_to_come) / std::max(rate, 1e-9);
    constexpr double worth_saying_s = 1e9;
    if (rate > 0 && seconds < worth_saying_s) {
      note += ": about " + std::to_string(static_cast<std::uint64_t>(seconds + 1)) +
              " s at the present rate, or at once if nobody else wants those before";
    }
    welcome.notes.push_back(std::move(note));
  }
  return admission;
}

std::string ProducerCore::name_for(const std::string& wanted) const {
  const auto taken = [&](const std::string& name) {
    return visit_consumers(
        [&](ServedRing*, const ConsumerStatus& row) { return row.name == name; });
  };
  std::string name = wanted;
  for (int number = 2; !further_.empty() && taken(name); ++number) {
    const std::string suffix = "-" + std::to_string(number);
    name = wanted.substr(0, limits::consumer_name_bytes_max - suffix.size()) + suffix;
  }
  return name;
}

std::optional<ProducerCore::Seat> ProducerCore::seat_of(ConsumerKey key) const {
  const std::lock_guard lock(mutex_);
  const auto found = seats_.find(key);
  if (found == seats_.end()) return std::nullopt;
  return found->second;
}

void ProducerCore::left(ConsumerKey key, Leaving how) {
  const auto seat = seat_of(key);
  if (!seat) return;
  writer_of(seat->ring).remove(seat->index, key);
  if (seat->ring != nullptr) writer_->set_left_at(seat->ring->writer().take_left_at());
  {
    const std::lock_guard lock(mutex_);
    seats_.erase(key);
  }
  look_for_demand(seat->ring);
  static_cast<void>(count_trainers());
  log(how == Leaving::misbehaved ? LogLevel::warning : LogLevel::info,
      "`" + seat->name + "` is gone (" + std::string(name_of(how)) + ")");
}

std::variant<Rejoined, Refusal> ProducerCore::rejoin(ConsumerKey key, const Rejoin& rejoin) {
  const auto seat = seat_of(key);
  if (!seat) return Refusal{RefusalKind::busy, "batchcast: this consumer is not attached"};
  const auto reply = seat->ring != nullptr
                         ? seat->ring->resume(seat->index, key, rejoin.join, rejoin.cursor)
                         : writer_->resume(seat->index, key, rejoin.join, rejoin.cursor);
  if (const auto* refusal = std::get_if<NotAdmitted>(&reply)) {
    return Refusal{kind_of(refusal->reason),
                   "batchcast: stream `" + options_.stream + "`: " + refusal->text};
  }
  Rejoined rejoined;
  rejoined.position = std::get<std::uint64_t>(reply);
  return rejoined;
}

void ProducerCore::paused(ConsumerKey key) {
  const auto seat = seat_of(key);
  if (!seat) return;
  writer_of(seat->ring).pause(seat->index, key);
  look_for_demand(seat->ring);
}

bool ProducerCore::evict(std::string_view consumer, const std::string& reason) {
  return visit_consumers([&](ServedRing* ring, const ConsumerStatus& row) {
    if (row.name != consumer || !writer_of(ring).evict(row.index, row.consumer_id)) return false;
    if (DoorServer* door = door_.load()) door->evict(row.consumer_id, reason);
    return true;
  });
}

void ProducerCore::tick() {
  for (const auto& ring : further_) ring->look_for_demand();
  constexpr std::uint64_t rate_over_ns = 1'000'000'000;
  const std::uint64_t now = now_ns();
  const std::uint64_t published = writer_->samples_published();
  const std::lock_guard lock(mutex_);
  if (rated_at_ns_ == 0) {
    rated_at_ns_ = now;
    rated_published_ = published;
  }
  if (now - rated_at_ns_ < rate_over_ns) return;
  samples_per_second_.store(
      static_cast<double>(published - rated_published_) / seconds_from_ns(now - rated_at_ns_),
      std::memory_order_relaxed);
  rated_at_ns_ = now;
  rated_published_ = published;
}

}  // namespace batchcast::inline v0_1::detail
