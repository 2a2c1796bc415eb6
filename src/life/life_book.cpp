// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "life/life_book.hpp"

#include "life/life_files.hpp"

#include <batchcast/core/text.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace {

constexpr std::uint64_t write_every_ns = 1'000'000'000;
constexpr std::size_t stand_ins_max = 100'000;  // a life file of a few MiB

/// By a keeper or an `ensure`, as the producer before was started.
bool is_started_again() { return std::getenv(deaths_variable) != nullptr; }

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

/// One that was let in again, and had not given up the attachment before, has two. It may resume
/// either: its producer may have been killed before the consumer read the welcome.
void join_attachments(std::vector<LifeMember>& members) {
  const std::vector<LifeMember> all = members;
  const auto followed_by = [&all](const LifeMember& member) {
    return std::find_if(all.begin(), all.end(), [&](const LifeMember& one) {
      return member.follows && *member.follows == one.key;
    });
  };
  for (LifeMember& member : members) {
    std::size_t steps = 0;  // a file may have a ring of them
    for (auto one = followed_by(member); one != all.end() && ++steps <= all.size();
         one = followed_by(*one)) {
      member.earlier.push_back({one->key, one->lock});
    }
  }
  std::erase_if(members, [&](const LifeMember& member) {
    return std::any_of(all.begin(), all.end(),
                       [&](const LifeMember& other) { return other.follows == member.key; });
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
  const auto warning = [this] {
    const std::lock_guard lock(mutex_);
    return take_over();
  }();
  warn(warning);
}

/// A producer that was killed left the file. Its members that live go on with this one.
std::string LifeBook::take_over() {
  std::optional<Life> last = read_life(directory_);
  if (!last || last->identity != life_.identity) return remove_lives(directory_), std::string();
  if (is_started_again()) settings_ = last->settings;
  life_.settings = settings_;
  go_on_with(*std::move(last));
  if (!before_) remove_lives(directory_);
  return before_ || !settings_.empty() ? write() : std::string();
}

void LifeBook::go_on_with(Life last) {
  std::vector<LifeMember>& members = last.members;
  forget_the_dead(last);
  const std::vector<LifeMember> all = members;
  join_attachments(members);
  if (members.empty()) return;
  earlier_ = all;
  life_.position = last.position;
  life_.epoch = last.epoch;
  life_.greatest = std::max(last.greatest, last.position.position);
  life_.deaths = deaths_before();
  life_.died = last.died;  // one that was killed before a trainer came left no other trace
  stand_ins_.put_all(last.stand_ins);
  before_ = std::move(last);
}

/// Of a group of which any rank lives, those that are gone stay: its ranks get to know that.
void LifeBook::forget_the_dead(Life& last) const {
  std::vector<LifeMember>& members = last.members;
  for (LifeMember& member : members) {
    if (member.gone || is_alive(member)) continue;
    last.lost.push_back(member);
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
  return !member.gone && (is_member_alive(directory_, member.lock) ||
                          std::any_of(member.earlier.begin(), member.earlier.end(),
                                      [this](const EarlierAttachment& one) {
                                        return is_member_alive(directory_, one.lock);
                                      }));
}

FileDescriptor LifeBook::admit(LifeMember member) {
  FileDescriptor lock;
  std::string warning;
  std::string not_written;
  {
    const std::lock_guard writing(mutex_);
    try {
      member.lock = lock_name(member.key);
      lock = make_member_lock(directory_, member.lock);
    } catch (const std::exception& error) {
      warning = warning_of("a trainer does not keep its place if this producer is killed", error);
    }
    not_written = add(std::move(member));
  }
  warn(warning);
  warn(not_written);
  return lock;
}

std::string LifeBook::add(LifeMember member) noexcept {
  try {
    life_.members.push_back(std::move(member));
    return write();
  } catch (const std::exception& error) {
    return warning_of("a trainer does not keep its place if this producer is killed", error);
  }
}

void LifeBook::note_death(DiedAt died) {
  std::unique_lock lock(mutex_);
  life_.greatest = std::max(life_.greatest, died.from);
  life_.died = std::move(died);
  const std::string warning = write();
  lock.unlock();
  warn(warning);
}

void LifeBook::note_gone(LifeMember rank) {
  std::unique_lock lock(mutex_);
  life_.members.push_back(std::move(rank));
  const std::string warning = write();
  lock.unlock();
  warn(warning);
}

void LifeBook::remove(const MemberKey& key, RankLoss how, std::uint64_t ended) {
  std::unique_lock lock(mutex_);
  const auto found = std::find_if(life_.members.begin(), life_.members.end(),
                                  [&](const LifeMember& one) { return one.key == key; });
  if (found == life_.members.end()) return;
  remove_member_lock(directory_, found->lock);
  found->gone = how;
  found->ended = std::max(found->ended, ended);  // `note` may not have come since
  if (has_another_life(life_.members, *found)) life_.members.erase(found);  // in another ring
  const std::vector<LifeMember> all = life_.members;
  std::erase_if(life_.members,
                [&](const LifeMember& one) { return one.gone && !has_others(all, one); });
  const std::string warning = write();
  lock.unlock();
  warn(warning);
}

void LifeBook::note(StreamPoint position, std::uint64_t epoch,
                    const std::map<MemberKey, MemberPlace>& places, std::uint64_t now_ns) {
  std::unique_lock lock(mutex_);
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
  const std::string warning = write();
  lock.unlock();
  warn(warning);
}

void LifeBook::keep_settings(const std::map<std::string, std::string>& settings,
                             std::uint64_t change) {
  std::unique_lock lock(mutex_);
  if (change < settings_change_) return;
  settings_change_ = change;
  life_.settings = settings;
  const std::string warning = write();
  lock.unlock();
  warn(warning);
}

void LifeBook::decide(std::uint64_t position, std::uint64_t sample_id) {
  if (!stand_ins_.put(position, sample_id)) return;
  has_decided_.store(true);
  std::unique_lock lock(mutex_);
  // Another worker may have written this one too.
  if (!has_decided_.load()) return;
  if (life_.members.empty() && earlier_.empty()) return;
  const std::string warning = write();
  lock.unlock();
  warn(warning);
}

void LifeBook::forget_decisions_below(std::uint64_t position) {
  {
    const std::lock_guard lock(mutex_);
    for (const LifeMember& member : earlier_) position = std::min(position, member.floor.position);
  }
  stand_ins_.forget_below(position);
}

void LifeBook::end() noexcept {
  const std::lock_guard lock(mutex_);
  // Another producer may have the directory since it was called first.
  if (!std::exchange(has_ended_, true)) remove_lives(directory_);
}

std::string LifeBook::write() noexcept {
  has_changed_ = true;  // until it is written
  has_decided_.store(false);
  if (has_ended_) return {};
  try {
    Life all = life_;
    all.stand_ins = stand_ins_.all();
    all.members.insert(all.members.end(), earlier_.begin(), earlier_.end());
    const bool are_too_many = all.stand_ins.size() > stand_ins_max;
    if (are_too_many) {
      all.stand_ins.erase(std::next(all.stand_ins.begin(), stand_ins_max), all.stand_ins.end());
    }
    write_life(directory_, all);
    has_changed_ = false;
    if (are_too_many && !std::exchange(has_warned_, true)) {
      return text(
          "more than {} samples that were published lately stand in for bad ones: those beyond are "
          "tried again if this producer is killed",
          stand_ins_max);
    }
  } catch (const std::exception& error) {
    return warning_of(
        "where its trainers are cannot be noted, so they may not find their places if this "
        "producer is killed",
        error);
  }
  return {};
}

std::string LifeBook::warning_of(const char* what, const std::exception& error) {
  return std::exchange(has_warned_, true) ? std::string() : text("{}: {}", what, error.what());
}

void LifeBook::warn(const std::string& warning) const {
  if (!warning.empty()) log_(LogLevel::warning, warning);
}

std::string LifeBook::lock_name(const MemberKey& key) const {
  return text("{}.{}", key.incarnation.substr(0, 8), key.consumer_id);
}

}  // namespace batchcast::inline v0_1::detail
