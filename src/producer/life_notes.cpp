// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "producer/life_notes.hpp"

#include "producer/returning_members.hpp"

#include <batchcast/core/hex.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace {

std::string incarnation_of(ServedRing& ring) { return to_hex(ring.writer().incarnation()); }

/// Says which samples were in the making, as far as a message has room for them.
void name_samples(DiedAt& died, const ProducerOptions& options) {
  constexpr std::uint64_t named_max = 32;
  constexpr std::size_t name_bytes_max = 500;
  const std::uint64_t end = std::min(died.to, died.from + named_max);
  for (std::uint64_t position = died.from; position < end; ++position) {
    const std::uint64_t epoch = position / options.samples_per_epoch;
    const std::uint64_t index = position % options.samples_per_epoch;
    std::array<std::uint64_t, 1> id;
    if (options.known_ids && options.known_ids(epoch, index, id)) died.ids.push_back(id[0]);
    if (!options.known_names) continue;
    died.names.push_back(options.known_names(epoch, index).substr(0, name_bytes_max));
  }
}

}  // namespace

const Life* LifeNotes::before() const noexcept {
  return book_ != nullptr && book_->before() ? &*book_->before() : nullptr;
}

bool LifeNotes::is_alive(const LifeMember& member) const noexcept {
  return book_ != nullptr && book_->is_alive(member);
}

FileDescriptor LifeNotes::admitted(ServedRing& ring, const Welcome& welcome, const Hello& hello,
                                   std::uint32_t pid) {
  if (book_ == nullptr || !hello.rides) return {};
  LifeMember member;
  member.key = {incarnation_of(ring), welcome.consumer_id};
  if (hello.resumes) member.follows = member_of(*hello.resumes);
  member.name = welcome.name;
  member.pid = pid;
  member.pace = hello.pace;
  member.between_epochs = hello.between_epochs;
  member.ring = rings_.name_at_door(ring);
  member.in_head = rings_.heads().is_head(ring);
  member.batch_size = hello.batch_size;
  member.group = {hello.group, hello.rank, hello.world};
  member.tail = hello.tail;
  member.floor.position = welcome.position;
  member.in_loop = hello.between_epochs == BetweenEpochs::hold || is_in_loop(hello);
  return book_->admit(std::move(member));
}

void LifeNotes::left(ServedRing& ring, std::uint64_t consumer_id, RankLoss how,
                     std::uint64_t ended) {
  if (book_ != nullptr) book_->remove({incarnation_of(ring), consumer_id}, how, ended);
}

void LifeNotes::note_death(const ReturningMembers::Decision& decision,
                           const ProducerOptions& options) {
  if (before() == nullptr) return;
  DiedAt died;
  for (const ReturningMembers::Place& place : decision.places) {
    if (!place.waiting || !place.waiting->hello.resumes || place.waiting->is_stranger) continue;
    const Resumes& board = *place.waiting->hello.resumes;
    if (to_hex(board.incarnation) != before()->incarnation) continue;
    died.from = std::max(died.from, board.published);
    died.to = std::max(died.to, board.claimed);
  }
  const std::uint64_t most = before()->position.position + rings_.host().capacity();
  died.from = std::min(died.from, most);  // no hello takes it beyond where the stream may have been
  died.to = std::min(died.to, most);
  if (died.to <= died.from) return;
  name_samples(died, options);
  book_->note_death(std::move(died));
}

void LifeNotes::note_gone(const LifeMember& rank) {
  if (book_ != nullptr) book_->note_gone(rank);
}

void LifeNotes::look(std::uint64_t now_ns, const std::map<std::uint64_t, std::uint64_t>& ended) {
  constexpr std::uint64_t every_ns = 1'000'000'000;
  if (book_ == nullptr) return;
  const bool is_due = book_->is_to_pass() || std::exchange(hastens_, false);
  if (!is_due && now_ns - looked_ns_ < every_ns) return;
  looked_ns_ = now_ns;
  std::map<MemberKey, MemberPlace> places;
  StreamPoint position;
  std::uint64_t epoch = 0;
  std::uint64_t lowest = 0;
  for (ServedRing* const ring : rings_.all()) {
    const WriterStatus status = ring->writer().status();
    if (ring == &rings_.host()) {
      position.position = status.published;
      epoch = status.epoch;
      // A newcomer, or one between two loops, may begin there.
      lowest = std::min(position.position, epoch * ring->writer().samples_per_epoch());
    }
    const std::string incarnation = incarnation_of(*ring);
    for (const ConsumerStatus& one : status.consumers) {
      if (one.mirrors) continue;
      const std::uint64_t floor = place_in_ring(one.position, status.published, ring->capacity());
      const auto rank = ended.find(one.consumer_id);
      lowest = std::min(lowest, floor);
      places[{incarnation, one.consumer_id}] = {
          {floor}, one.state != ConsumerState::paused, rank == ended.end() ? 0 : rank->second};
    }
  }
  book_->forget_decisions_below(lowest);
  book_->note(position, epoch, places, now_ns);
}

std::optional<Receipt> receipt_before(const ProducerOptions& options, std::uint64_t position) {
  const std::uint64_t samples = options.samples_per_epoch;
  return receipt_of(options, position / samples, position % samples);
}

std::optional<Receipt> receipt_of(const ProducerOptions& options, std::uint64_t epoch,
                                  std::uint64_t count) {
  constexpr std::uint64_t looked_up_max = std::uint64_t{1} << 24;  // a second at most
  if (!options.known_ids || count > looked_up_max) return std::nullopt;
  Receipt receipt;
  std::array<std::uint64_t, 4'096> ids;
  for (std::uint64_t index = 0; index < count; index += ids.size()) {
    const std::uint64_t left = count - index;
    const std::span<std::uint64_t> some(ids.data(), std::min<std::uint64_t>(ids.size(), left));
    if (!options.known_ids(epoch, index, some)) return std::nullopt;
    receipt.add(some);
  }
  return receipt;
}

}  // namespace batchcast::inline v0_1::detail
