// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "producer/late_rings.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/named_thread.hpp>
#include <batchcast/core/text.hpp>
#include "life/life_files.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace {

constexpr auto look_every = std::chrono::milliseconds(100);

}  // namespace

std::string who_reads_on_gpus(const std::string& directory) {
  const std::optional<Life> life = read_life(directory);
  std::string names;
  if (!life) return names;
  for (const LifeMember& member : life->members) {
    if (member.gone || member.ring == "host" || !is_member_alive(directory, member.lock)) continue;
    names += text("{}`{}` (pid {})", names.empty() ? "" : ", ", member.name, member.pid);
  }
  return names;
}

LateRings::LateRings(std::function<std::string()> who_reads, LogCallback log)
    : who_reads_(std::move(who_reads)), log_(std::move(log)) {}

LateRings::~LateRings() { end(); }

void LateRings::end() noexcept {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  ending_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void LateRings::add(std::string id, const std::string& why, Make make) {
  say(LogLevel::warning,
      text("{} The ring of the producer before, which was killed, is there as long as its trainers "
           "read it: {}. Trainers there go on once it is gone, all others at once.",
           why, who_reads_()));
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::make_shared<const Late>(Late{std::move(id), why, std::move(make)}));
  if (!thread_.joinable()) thread_ = start_thread("bc-late", [this] { run(); });
}

std::optional<std::string> LateRings::reason_of(std::string_view id) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(waiting_.begin(), waiting_.end(),
                                  [&](const auto& late) { return late->id == id; });
  if (found == waiting_.end()) return std::nullopt;
  return (*found)->why;
}

std::vector<std::unique_ptr<ServedRing>> LateRings::take() {
  const std::lock_guard lock(mutex_);
  for (const auto& ring : made_) {
    std::erase_if(waiting_, [&](const auto& late) { return late->id == ring->id(); });
  }
  return std::exchange(made_, {});
}

void LateRings::run() noexcept {
  std::unique_lock lock(mutex_);
  std::size_t turn = 0;
  while (!ending_.wait_for(lock, look_every, [this] { return over_; })) {
    if (made_.size() == waiting_.size()) continue;
    const std::shared_ptr<const Late> late = waiting_[turn++ % waiting_.size()];
    const bool is_made = std::any_of(made_.begin(), made_.end(),
                                     [&](const auto& ring) { return ring->id() == late->id; });
    if (is_made) continue;
    lock.unlock();
    const bool is_through = try_make(*late);
    lock.lock();
    const bool is_there = std::any_of(made_.begin(), made_.end(),
                                      [&](const auto& ring) { return ring->id() == late->id; });
    if (is_through && !is_there) std::erase(waiting_, late);
  }
}

bool LateRings::try_make(const Late& late) noexcept {
  try {
    const bool is_last_try = who_reads_().empty();  // before: what they gave back is there by then
    try {
      std::unique_ptr<ServedRing> ring = late.make();
      const std::lock_guard lock(mutex_);
      made_.push_back(std::move(ring));
      return true;
    } catch (const OutOfMemory& error) {
      if (!is_last_try) return false;
      say(LogLevel::error,
          text("{} No trainer reads the ring of the producer before any more: the stream is not "
               "served there.",
               error.what()));
    }
  } catch (const std::exception& error) {
    say(LogLevel::error, text("a ring on a GPU could not be made: {}", error.what()));
  }
  return true;
}

}  // namespace batchcast::inline v0_1::detail
