// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "feeder/processor_room.hpp"

#include "core/usable_processors.hpp"

#include <batchcast/core/text.hpp>

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace {

// A change has to last, so that short work of others starts and ends no threads.
constexpr int looks_needed = 3;
constexpr double newest_share = 0.4;

/// User and system time of a process in ticks; 0 where it cannot be seen.
std::uint64_t ticks_of_process(const std::string& root, const std::string& pid) {
  std::ifstream file(text("{}/proc/{}/stat", root, pid));
  std::string line;
  std::getline(file, line);
  const std::size_t end = line.rfind(')');  // its name may have blanks
  if (end == std::string::npos) return 0;
  std::istringstream words(line.substr(end + 1));
  std::string skipped;
  for (int i = 0; i < 11; ++i) words >> skipped;
  std::uint64_t user = 0;
  std::uint64_t system = 0;
  words >> user >> system;
  return words ? user + system : 0;
}

}  // namespace

ProcessorRoom::ProcessorRoom(std::string root)
    : root_(std::move(root)), ticks_(observe::processor_ticks(root_)) {
  usable_ = room_ = usable_processors();
  of_processes_[0] = ticks_of_process(root_, "self");
}

double ProcessorRoom::used_by_others(const std::vector<std::uint32_t>& trainers) {
  const observe::ProcessorTicks before = std::exchange(ticks_, observe::processor_ticks(root_));
  std::map<std::uint32_t, std::uint64_t> now;
  now[0] = ticks_of_process(root_, "self");
  for (const std::uint32_t pid : trainers) {
    if (pid != 0) now[pid] = ticks_of_process(root_, std::to_string(pid));
  }
  std::uint64_t own = 0;
  for (const auto& [pid, ticks] : now) {
    const auto earlier = of_processes_.find(pid);
    // What came between the looks may have used all of its time since.
    const std::uint64_t from = earlier == of_processes_.end() ? 0 : earlier->second;
    own += ticks > from ? ticks - from : 0;
  }
  of_processes_ = std::move(now);
  const double idle = observe::idle_between(before, ticks_);
  if (idle < 0) return 0;
  const double span = static_cast<double>(ticks_.all - before.all) / ticks_.processors;
  return std::max(0.0, ticks_.processors - idle - static_cast<double>(own) / span);
}

unsigned ProcessorRoom::look(const std::vector<std::uint32_t>& trainers) {
  others_ += newest_share * (used_by_others(trainers) - others_);
  usable_ = usable_processors();
  const double left = std::max(1.0, std::round(ticks_.processors - others_));
  const unsigned room = ticks_.processors == 0
                            ? usable_
                            : std::clamp(static_cast<unsigned>(left), 1U, std::max(1U, usable_));
  looks_with_other_room_ = room == room_ ? 0 : looks_with_other_room_ + 1;
  if (looks_with_other_room_ >= looks_needed) {
    room_ = room;
    looks_with_other_room_ = 0;
  }
  return std::min(room_, usable_);
}

std::string ProcessorRoom::why() const {
  if (room_ < usable_) return text("other processes use about {}", std::lround(others_));
  return "other processes leave all that its affinity and control group permit";
}

}  // namespace batchcast::inline v0_1::detail
