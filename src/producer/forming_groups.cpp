// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "producer/forming_groups.hpp"

#include <batchcast/core/text.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string_view>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace {

// Consumer ids are lower.
constexpr ConsumerKey waiting_bit = ConsumerKey{1} << 63;

std::string samples(const Hello& hello) { return text("{}", hello.batch_size); }

std::string join_text(const Hello& hello) {
  const std::string name(name_of(hello.join));
  if (hello.join != Join::at) return name;
  return hello.cursor_row == 0 ? text("{} {}", name, hello.cursor)
                               : text("{} {}, row {}", name, hello.cursor, hello.cursor_row);
}

std::string window_text(const Hello& hello) {
  const Window& window = hello.window;
  return window.is_set() ? text("{}={}x{}+{}", window.axis, window.rows, window.runs, window.extra)
                         : "none";
}

/// As the text of a Group has them.
std::string job_text(const Hello& hello) {
  return hello.job_world == 0 ? "none elsewhere" : text("{}/{}", hello.job_first, hello.job_world);
}

std::string budget_text(const Hello& hello) {
  const Budget& budget = hello.budget;
  if (!budget.is_set()) return "none";
  return text("{}={} ({})", budget.axis, budget.rows, name_of(hello.oversize));
}

/// Something that two ranks of one group ask for.
struct Choice {
  const char* what;
  std::string value;
  std::string others;
};

/// What the two ask for differently; nothing where they agree.
std::optional<Choice> difference(const Hello& one, const Hello& other) {
  const Choice choices[] = {
      {"world", text("{}", one.world), text("{}", other.world)},
      {"ranks of the job", job_text(one), job_text(other)},
      {"batch_size", samples(one), samples(other)},
      {"budget", budget_text(one), budget_text(other)},
      {"window", window_text(one), window_text(other)},
      {"tail", std::string(name_of(one.tail)), std::string(name_of(other.tail))},
      {"join", join_text(one), join_text(other)},
  };
  for (const Choice& choice : choices) {
    if (choice.value != choice.others) return choice;
  }
  return std::nullopt;
}

/// For a group of which at least one rank waits, as below.
bool is_complete(const std::map<std::uint32_t, WaitingRank>& ranks) {
  return ranks.size() == ranks.begin()->second.hello.world;
}

/// For a group of which at least one rank waits.
std::vector<std::uint32_t> missing_of(const std::map<std::uint32_t, WaitingRank>& ranks) {
  std::vector<std::uint32_t> missing;
  const std::uint32_t world = ranks.begin()->second.hello.world;
  for (std::uint32_t rank = 0; rank < world; ++rank) {
    if (!ranks.contains(rank)) missing.push_back(rank);
  }
  return missing;
}

/// "ranks 1, 2 and 7 of 8 have not come".
std::string missing_text(const std::vector<std::uint32_t>& missing, std::uint32_t world) {
  constexpr std::size_t named_max = 32;
  const std::size_t named = std::min(missing.size(), named_max);
  std::string list = missing.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < named; ++i) {
    const std::string_view before = i == 0 ? "" : i + 1 == missing.size() ? " and " : ", ";
    list += text("{}{}", before, missing[i]);
  }
  if (named < missing.size()) list += text(" and {} others", missing.size() - named);
  return text("{} of {}{}", list, world, missing.size() == 1 ? " has not come" : " have not come");
}

}  // namespace

std::optional<std::string> FormingGroups::conflict(const Hello& hello) const {
  const std::lock_guard lock(mutex_);
  const auto group = groups_.find(hello.group);
  if (group == groups_.end()) return std::nullopt;
  const Ranks& ranks = group->second;
  const std::string rank = text("rank {} of group `{}` ", hello.rank, hello.group);
  const Hello& other = ranks.begin()->second.hello;
  if (const auto differs = difference(hello, other)) {
    return text(
        "{}has {} = {}, and rank {}, which came before, has {}. All ranks of a group must agree in "
        "world, ranks of the job, batch_size, budget, window, tail and join",
        rank, differs->what, differs->value, other.rank, differs->others);
  }
  const auto same = ranks.find(hello.rank);
  if (same == ranks.end()) return std::nullopt;
  return text("{}waits already, as process {}. Give each process of a group another rank", rank,
              same->second.pid);
}

bool FormingGroups::would_complete(const Hello& hello) const {
  const auto group = groups_.find(hello.group);
  return group != groups_.end() && group->second.size() + 1 == hello.world;
}

void FormingGroups::note_refused(const Hello& hello, const std::string& why) {
  const std::lock_guard lock(mutex_);
  const auto group = groups_.find(hello.group);
  if (group == groups_.end() || group->second.contains(hello.rank)) return;
  const Hello& other = group->second.begin()->second.hello;
  if (hello.rank >= other.world) return;
  const auto differs = difference(hello, other);
  refused_[hello.group][hello.rank] = text(
      "rank {} came and was refused: {}", hello.rank,
      differs ? text("its {} is {}, not {}", differs->what, differs->value, differs->others) : why);
  changed_.insert(hello.group);
}

ConsumerKey FormingGroups::add(const Hello& hello, std::uint32_t pid) {
  const std::lock_guard lock(mutex_);
  const ConsumerKey key = waiting_bit | ++keys_;
  groups_[hello.group].insert({hello.rank, WaitingRank{key, hello, pid}});
  refused_[hello.group].erase(hello.rank);
  changed_.insert(hello.group);
  return key;
}

bool FormingGroups::remove(ConsumerKey key) {
  if ((key & waiting_bit) == 0) return false;
  const std::lock_guard lock(mutex_);
  for (auto group = groups_.begin(); group != groups_.end(); ++group) {
    const std::size_t gone =
        std::erase_if(group->second, [&](const auto& one) { return one.second.key == key; });
    if (gone == 0) continue;
    changed_.insert(group->first);
    if (group->second.empty()) {
      refused_.erase(group->first);
      groups_.erase(group);
    }
    break;
  }
  return true;
}

bool FormingGroups::has_complete() const {
  const std::lock_guard lock(mutex_);
  return std::any_of(groups_.begin(), groups_.end(),
                     [](const auto& group) { return is_complete(group.second); });
}

std::optional<std::vector<WaitingRank>> FormingGroups::take_complete() {
  const std::lock_guard lock(mutex_);
  for (auto group = groups_.begin(); group != groups_.end(); ++group) {
    Ranks& ranks = group->second;
    if (!is_complete(ranks)) continue;
    std::vector<WaitingRank> complete;
    for (auto& [rank, waiting] : ranks) complete.push_back(std::move(waiting));
    refused_.erase(group->first);
    groups_.erase(group);
    return complete;
  }
  return std::nullopt;
}

std::vector<WaitingRank> FormingGroups::take_all() {
  const std::lock_guard lock(mutex_);
  std::vector<WaitingRank> all;
  refused_.clear();
  for (auto& [name, ranks] : std::exchange(groups_, {})) {
    for (auto& [rank, waiting] : ranks) all.push_back(std::move(waiting));
  }
  return all;
}

std::vector<RankNews> FormingGroups::take_news() {
  std::vector<RankNews> news;
  const std::lock_guard lock(mutex_);
  for (const std::string& name : std::exchange(changed_, {})) {
    const auto group = groups_.find(name);
    if (group == groups_.end()) continue;
    std::string waits =
        missing_text(missing_of(group->second), group->second.begin()->second.hello.world);
    for (const auto& [rank, why] : refused_[name]) waits += text(" ({})", why);
    for (const auto& [rank, waiting] : group->second) news.push_back({waiting.key, Forming{waits}});
  }
  return news;
}

std::size_t FormingGroups::count() const {
  const std::lock_guard lock(mutex_);
  return std::accumulate(
      groups_.begin(), groups_.end(), std::size_t{0},
      [](std::size_t sum, const auto& group) { return sum + group.second.size(); });
}

std::vector<FormingGroup> FormingGroups::list() const {
  const std::lock_guard lock(mutex_);
  std::vector<FormingGroup> all;
  for (const auto& [name, ranks] : groups_) {
    all.push_back({name, ranks.begin()->second.hello.world, missing_of(ranks)});
  }
  return all;
}

}  // namespace batchcast::inline v0_1::detail
