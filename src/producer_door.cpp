// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "producer_core.hpp"

#include <batchcast/core/clock.hpp>
#include <batchcast/core/error.hpp>

#include <sys/mman.h>

#include <utility>

// Who comes in by the door, and who goes out of it.
namespace batchcast::detail {
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

AdmissionReply ProducerCore::admit(const Hello& hello, const PeerIdentity& peer) {
  const std::string stream = "batchcast: stream `" + options_.stream + "`: ";
  if (hello.batch_size > plan_.capacity) {
    return Refusal{
        RefusalKind::ring_too_small,
        stream + "a batch of " + std::to_string(hello.batch_size) +
            " samples does not fit into the ring, which spans " + std::to_string(plan_.capacity) +
            ". Serve it with --memory " +
            std::to_string(memory_for(all_fields_, hello.batch_size, plan_.granularity)) +
            " bytes or more, or ask for smaller batches"};
  }
  std::shared_ptr<DeskMemory> memory;
  try {
    memory = std::make_shared<DeskMemory>(Segment::create_small("desk", page_bytes()));
  } catch (const Error& error) {
    return Refusal{RefusalKind::busy, stream + "no desk could be made: " + error.what()};
  }
  AdmitRequest request;
  request.name = hello.name.empty() ? "consumer" : hello.name;
  request.pid = static_cast<std::uint32_t>(peer.pid != 0 ? peer.pid : hello.pid);
  request.batch_size = static_cast<std::uint32_t>(hello.batch_size);
  request.pace = hello.pace;
  request.join = hello.join;
  request.cursor = hello.cursor;
  request.between_epochs = hello.between_epochs;
  request.observes = hello.observes;
  auto reply = writer_->admit(
      request, std::shared_ptr<Desk>(memory, reinterpret_cast<Desk*>(memory->mapping.data())));
  if (const auto* refusal = std::get_if<NotAdmitted>(&reply)) {
    return Refusal{kind_of(refusal->reason), stream + refusal->text};
  }
  const Admitted& admitted = std::get<Admitted>(reply);
  {
    const std::lock_guard lock(mutex_);
    index_of_[admitted.tenant] = admitted.index;
  }
  log(LogLevel::info,
      "`" + admitted.name + "` (pid " + std::to_string(request.pid) + ") " +
          (request.observes ? std::string("looks on")
                            : "joined at position " + std::to_string(admitted.position)));

  Admission admission;
  admission.key = admitted.tenant;
  Welcome& welcome = admission.welcome;
  welcome.stream = options_.stream;
  welcome.consumer_index = admitted.index;
  welcome.tenant = admitted.tenant;
  welcome.name = admitted.name;
  welcome.position = admitted.position;
  welcome.samples_to_come = admitted.samples_to_come;
  welcome.board_bytes = board_segment_->bytes();
  welcome.desk_bytes = memory->segment.bytes();
  admission.descriptors = {board_segment_->fd(), memory->segment.fd(), pidfd_.get()};
  for (const Segment& segment : segments_) {
    welcome.segment_bytes.push_back(segment.bytes());
    admission.descriptors.push_back(segment.fd());
  }
  if (admitted.samples_to_come > 0) {
    std::string note = "joins at position " + std::to_string(admitted.position) + ", " +
                       std::to_string(admitted.samples_to_come) + " samples from now";
    const double rate = samples_per_second_.load(std::memory_order_relaxed);
    if (rate > 0) {
      const double seconds = static_cast<double>(admitted.samples_to_come) / rate;
      note += ": about " + std::to_string(static_cast<std::uint64_t>(seconds + 1)) +
              " s at the present rate, or at once if nobody else wants those before";
    }
    welcome.notes.push_back(std::move(note));
  }
  admission.hold = std::move(memory);
  return admission;
}

std::optional<std::uint32_t> ProducerCore::index_of(ConsumerKey key) const {
  const std::lock_guard lock(mutex_);
  const auto found = index_of_.find(key);
  if (found == index_of_.end()) return std::nullopt;
  return found->second;
}

std::string ProducerCore::consumer_name(std::uint32_t index) const {
  for (const ConsumerStatus& consumer : writer_->status().consumers) {
    if (consumer.index == index) return consumer.name;
  }
  return "consumer " + std::to_string(index);
}

void ProducerCore::left(ConsumerKey key, Leaving how) {
  const auto index = index_of(key);
  if (!index) return;
  const std::string name = consumer_name(*index);
  writer_->remove(*index, key);
  {
    const std::lock_guard lock(mutex_);
    index_of_.erase(key);
  }
  log(how == Leaving::misbehaved ? LogLevel::warning : LogLevel::info,
      "`" + name + "` is gone (" + std::string(name_of(how)) + ")");
}

std::variant<Rejoined, Refusal> ProducerCore::rejoin(ConsumerKey key, const Rejoin& rejoin) {
  const auto index = index_of(key);
  if (!index) return Refusal{RefusalKind::busy, "batchcast: this consumer is not attached"};
  const auto reply = writer_->resume(*index, key, rejoin.join, rejoin.cursor);
  if (const auto* refusal = std::get_if<NotAdmitted>(&reply)) {
    return Refusal{kind_of(refusal->reason),
                   "batchcast: stream `" + options_.stream + "`: " + refusal->text};
  }
  Rejoined rejoined;
  rejoined.position = std::get<std::uint64_t>(reply);
  return rejoined;
}

void ProducerCore::paused(ConsumerKey key) {
  if (const auto index = index_of(key)) writer_->pause(*index, key);
}

void ProducerCore::tick() {
  constexpr std::uint64_t rate_over_ns = 1'000'000'000;
  const std::uint64_t now = now_ns();
  const std::uint64_t published = order::load_published(BoardView(board_->data()).progress());
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

bool ProducerCore::evict(std::string_view consumer, const std::string& reason) {
  for (const ConsumerStatus& row : writer_->status().consumers) {
    if (row.name != consumer) continue;
    if (!writer_->evict(row.index, row.tenant)) return false;
    if (doorkeeper_) doorkeeper_->evict(row.tenant, reason);
    return true;
  }
  return false;
}

}  // namespace batchcast::detail
