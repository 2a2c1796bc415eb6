// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "life/life_book.hpp"

#include "life/life_files.hpp"

#include <batchcast/core/text.hpp>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace {

constexpr std::uint64_t write_every_ns = 1'000'000'000;

/// 0 for one that was started by hand.
std::uint32_t deaths_before() {
  const char* const text = std::getenv(deaths_variable);
  return text == nullptr ? 0 : static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10));
}

bool are_of_one_group(const LifeMember& one, const LifeMember& other) {
  return one.group.world != 0 && one.group.name == other.group.name;
}

/// Whether any rank of its group is there.
bool has_others(const std::vector<LifeMember>& members, const LifeMember& gone) {
  return std::any_of(members.begin(), members.end(), [&](const LifeMember& one) {
    return !one.gone && are_of_one_group(one, gone);
  });
}

/// Whether the same rank is there, attached to another producer.
bool has_another_life(const std::vector<LifeMember>& members, const LifeMember& gone) {
  return std::any_of(members.begin(), members.end(), [&](const LifeMember& one) {
    return !one.gone && are_of_one_group(one, gone) && one.group.rank == gone.group.rank;
  });
}

}  // namespace

LifeBook::LifeBook(std::string directory, Life life, LogCallback log)
    : directory_(std::move(directory)), log_(std::move(log)), life_(std::move(life)) {
  take_over();
}

/// A producer that was killed left the file. Its members that live go on with this one.
void LifeBook::take_over() {
  std::optional<Life> last = read_life(directory_);
  if (!last || last->identity != life_.identity) return remove_lives(directory_);
  std::vector<LifeMember>& members = last->members;
  forget_the_dead(members);
  // One that was let in again, and had not given up the attachment before, has two.
  const std::vector<LifeMember> all = members;
  std::erase_if(members, [&](const LifeMember& member) {
    return std::any_of(all.begin(), all.end(),
                       [&](const LifeMember& other) { return other.follows == member.key; });
  });
  if (members.empty()) return remove_lives(directory_);
  earlier_ = all;
  before_ = std::move(last);
  life_.position = before_->position;
  life_.epoch = before_->epoch;
  life_.greatest = std::max(before_->greatest, before_->position.position);
  life_.deaths = deaths_before();
  write();
}

/// Of a group of which any rank lives, those that are gone stay: its ranks get to know that.
void LifeBook::forget_the_dead(std::vector<LifeMember>& members) const {
  for (LifeMember& member : members) {
    if (member.gone || is_alive(member)) continue;
    remove_member_lock(directory_, member.lock);
    member.gone = RankLoss::died;
    member.follows.reset();
  }
  const std::vector<LifeMember> all = members;
  std::erase_if(members, [&](const LifeMember& one) {
    return one.gone && (!has_others(all, one) || has_another_life(all, one));
  });
}

bool LifeBook::is_alive(const LifeMember& member) const noexcept {
  return !member.gone && is_member_alive(directory_, member.lock);
}

FileDescriptor LifeBook::admit(LifeMember member) {
  FileDescriptor lock;
  try {
    member.lock = lock_name(member.key);
    lock = make_member_lock(directory_, member.lock);
    life_.members.push_back(std::move(member));
    write();
  } catch (const std::exception& error) {
    if (!std::exchange(has_warned_, true)) {
      log_(LogLevel::warning,
           text("a trainer does not keep its place if this producer is killed: {}", error.what()));
    }
  }
  return lock;
}

void LifeBook::note_death(DiedAt died) {
  life_.greatest = std::max(life_.greatest, died.from);
  life_.died = std::move(died);
  write();
}

void LifeBook::note_gone(LifeMember rank) {
  life_.members.push_back(std::move(rank));
  write();
}

void LifeBook::remove(const MemberKey& key, RankLoss how) {
  const auto found = std::find_if(life_.members.begin(), life_.members.end(),
                                  [&](const LifeMember& one) { return one.key == key; });
  if (found == life_.members.end()) return;
  remove_member_lock(directory_, found->lock);
  found->gone = how;
  const std::vector<LifeMember> all = life_.members;
  std::erase_if(life_.members,
                [&](const LifeMember& one) { return one.gone && !has_others(all, one); });
  write();
}

void LifeBook::note(StreamPoint position, std::uint64_t epoch,
                    const std::map<MemberKey, MemberPlace>& places, std::uint64_t now_ns) {
  if (position != life_.position || epoch != life_.epoch) has_changed_ = true;
  if (noted_ && position < *noted_) life_.greatest = position.position;  // it went back
  noted_ = position;
  const bool passes = !has_passed_ && position.position > life_.greatest;
  has_passed_ = has_passed_ || passes;
  if (has_passed_) life_.died.reset();
  bool is_urgent = passes;
  life_.position = position;
  life_.epoch = epoch;
  for (LifeMember& member : life_.members) {
    const auto found = places.find(member.key);
    if (found == places.end()) continue;
    const MemberPlace& place = found->second;
    if (place == MemberPlace{member.floor, member.in_loop, member.ended}) continue;
    is_urgent = is_urgent || place.in_loop != member.in_loop || place.ended != member.ended;
    member.floor = place.floor;
    member.in_loop = place.in_loop;
    member.ended = place.ended;
    has_changed_ = true;
  }
  if (!has_changed_ || (!is_urgent && now_ns - written_ns_ < write_every_ns)) return;
  written_ns_ = now_ns;
  const auto gone = std::erase_if(earlier_, [&](const LifeMember& one) {
    if (is_alive(one)) return false;
    remove_member_lock(directory_, one.lock);
    return true;
  });
  static_cast<void>(gone);
  write();
}

void LifeBook::end() noexcept {
  // Another producer may have the directory since it was called first.
  if (!std::exchange(has_ended_, true)) remove_lives(directory_);
}

void LifeBook::write() noexcept {
  has_changed_ = false;
  if (has_ended_) return;
  try {
    Life all = life_;
    all.members.insert(all.members.end(), earlier_.begin(), earlier_.end());
    write_life(directory_, all);
  } catch (const std::exception& error) {
    if (std::exchange(has_warned_, true)) return;
    log_(LogLevel::warning,
         text("where its trainers are cannot be noted, so they may not find their places if this "
              "producer is killed: {}",
              error.what()));
  }
}

std::string LifeBook::lock_name(const MemberKey& key) const {
  return text("{}.{}", key.incarnation.substr(0, 8), key.consumer_id);
}

}  // namespace batchcast::inline v0_1::detail
