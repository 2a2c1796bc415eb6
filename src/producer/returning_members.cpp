// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "producer/returning_members.hpp"

#include <batchcast/core/hex.hpp>

#include <algorithm>
#include <tuple>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace {

// Consumer ids are lower, and so are not the keys of waiting ranks, which have one more bit.
constexpr ConsumerKey returning_bit = ConsumerKey{1} << 62;

}  // namespace

MemberKey member_of(const Resumes& resumes) {
  return {to_hex(resumes.incarnation), resumes.consumer_id};
}

bool is_from(const LifeMember& member, const Hello& hello) {
  return hello.resumes && member.is(member_of(*hello.resumes)) &&
         member.group == Group(hello.group, hello.rank, hello.world);
}

void ReturningMembers::expect(const Life& life, std::uint64_t capacity) {
  life_ = life;
  capacity_ = capacity;
}

void ReturningMembers::forget() noexcept {
  life_.reset();
  is_decided_ = true;
  group_waits_ = false;
}

void ReturningMembers::note_group(bool waits, std::uint64_t now_ns) noexcept {
  const bool begins = waits && expects_any() && !is_decided_;
  if (begins && !is_gathering()) since_ns_ = now_ns;
  if (begins != group_waits_) group_waits_ = begins;
}

ConsumerKey ReturningMembers::add(const Hello& hello, std::uint32_t pid, std::uint64_t now_ns) {
  if (!is_gathering()) since_ns_ = now_ns;
  const ConsumerKey key = returning_bit | ++keys_;
  waiting_.push_back({key, hello, pid, is_stranger(hello)});
  return key;
}

bool ReturningMembers::is_stranger(const Hello& hello) const {
  if (!hello.resumes || !life_) return false;
  const auto sent = [&](const LifeMember& member) { return is_from(member, hello); };
  return std::none_of(life_->members.begin(), life_->members.end(), sent) &&
         std::none_of(life_->lost.begin(), life_->lost.end(), sent);
}

bool ReturningMembers::remove(ConsumerKey key) {
  return std::erase_if(waiting_, [&](const WaitingHello& one) { return one.key == key; }) != 0;
}

bool ReturningMembers::is_due(std::uint64_t now_ns) const {
  if (!is_gathering()) return false;
  if (now_ns - since_ns_ >= gather_ns) return true;
  return life_ && missing().empty();
}

/// Those that the stream waits for, at their places.
std::vector<LifeMember> ReturningMembers::missing() const {
  std::vector<LifeMember> missing;
  if (!life_) return missing;
  for (const LifeMember& member : life_->members) {
    const bool came = std::any_of(waiting_.begin(), waiting_.end(), [&](const WaitingHello& one) {
      return is_from(member, one.hello);
    });
    if (!came && member.gates()) missing.push_back(member);
  }
  return missing;
}

/// Its floor is up to a second old. What its ring still had when the producer died, as others of
/// that ring say, bounds it as well. Neither is trusted beyond where the stream may have been. A
/// place that is too low costs samples that are made again, and one too high the place itself.
std::uint64_t ReturningMembers::place_of(const LifeMember& member) const {
  std::uint64_t place = member.floor.position;
  for (const WaitingHello& one : waiting_) {
    if (!one.hello.resumes || one.is_stranger) continue;
    if (to_hex(one.hello.resumes->incarnation) != member.key.incarnation) continue;
    const Resumes& board = *one.hello.resumes;
    for (const std::uint64_t oldest : {board.kept_from, board.valid_from}) {
      if (oldest <= board.published) place = std::max(place, oldest);
    }
  }
  return std::min(place, life_->position.position + capacity_);
}

bool ReturningMembers::is_in_head(const MemberKey& key) const {
  if (!life_ || !heads_are_allowed_) return false;
  return std::any_of(life_->members.begin(), life_->members.end(),
                     [&](const LifeMember& one) { return one.is(key) && one.in_head; });
}

Group ReturningMembers::Place::group() const {
  if (!waiting) return missing->group;
  return {waiting->hello.group, waiting->hello.rank, waiting->hello.world};
}

std::uint64_t ReturningMembers::Place::whole_batch() const {
  const std::uint64_t own = waiting ? waiting->hello.batch_size : missing->batch_size;
  return own * std::max(group().world, 1U);
}

void ReturningMembers::finish(Decision& decision, std::uint64_t samples_per_epoch) {
  is_decided_ = true;
  group_waits_ = false;
  for (WaitingHello& one : std::exchange(waiting_, {})) {
    const std::optional<std::uint64_t> position = one.place();
    const bool in_head = one.hello.resumes && is_in_head(member_of(*one.hello.resumes));
    decision.places.push_back({std::move(one), {}, position, in_head});
  }
  if (life_) {
    const std::uint64_t length = std::max<std::uint64_t>(samples_per_epoch, 1);
    decision.otherwise =
        std::min(life_->epoch, life_->position.position / length) * samples_per_epoch;
  }
  decision.settle();
  life_.reset();
}

void ReturningMembers::Decision::settle() {
  std::optional<std::uint64_t> lowest, lowest_in_head, foremost_free;
  const auto count = [&](std::uint64_t position, bool in_head) {
    std::optional<std::uint64_t>& least = in_head ? lowest_in_head : lowest;
    least = std::min(least.value_or(position), position);
  };
  for (const Place& one : places) {
    const std::optional<std::uint64_t>& position = one.position;
    if (position && one.gates()) count(*position, one.in_head);
    if (position && !one.gates()) foremost_free = std::max(foremost_free.value_or(0), *position);
  }
  begin = lowest ? lowest : lowest_in_head ? lowest_in_head : foremost_free;
  if (!begin) begin = otherwise;
  const auto order_of = [](const Place& place) {
    const bool is_new = !place.position;
    return std::tuple(is_new, !is_new && place.in_head, place.position.value_or(0));
  };
  std::stable_sort(places.begin(), places.end(), [&](const Place& one, const Place& other) {
    return order_of(one) < order_of(other);
  });
}

}  // namespace batchcast::inline v0_1::detail
