// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "producer/patient_devices.hpp"

#include <batchcast/core/deadline.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/text.hpp>
#include "life/life_files.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace {

constexpr int wait_ms = 30'000;
constexpr auto look_every = std::chrono::milliseconds(100);

/// The living trainers of an earlier producer that read a ring on a GPU: `a` (pid 7), `b` (pid 8).
std::string who_reads_there(const std::string& directory) {
  const std::optional<Life> life = read_life(directory);
  std::string names;
  if (!life) return names;
  for (const LifeMember& member : life->members) {
    if (member.gone || member.ring == "host" || !is_member_alive(directory, member.lock)) continue;
    names += text("{}`{}` (pid {})", names.empty() ? "" : ", ", member.name, member.pid);
  }
  return names;
}

template <class Make>
auto made_in_time(const std::string& directory, const LogCallback& log, const Make& make) {
  const Deadline deadline(wait_ms);
  for (bool told = false;;) {
    std::string names;
    try {
      return make();
    } catch (const OutOfMemory& error) {
      names = who_reads_there(directory);
      if (names.empty() || deadline.over()) throw;
      if (!std::exchange(told, true) && log) {
        log(LogLevel::warning,
            text("{} The ring of the producer before, which was killed, is there as long as its "
                 "trainers read it: {}. This one waits {} s for its memory.",
                 error.what(), names, wait_ms / 1'000));
      }
    }
    std::this_thread::sleep_for(look_every);
  }
}

}  // namespace

DeviceRingMaker patient(DeviceRingMaker devices, std::string directory, LogCallback log) {
  DeviceRingMaker waits;
  waits.look_at = [=, look_at = std::move(devices.look_at)](const ProducerOptions& options,
                                                            Placement placement) {
    return made_in_time(directory, log, [&] { return look_at(options, placement); });
  };
  waits.make = [directory = std::move(directory), log = std::move(log),
                make = std::move(devices.make)](const DeviceRingParts& parts) {
    return made_in_time(directory, log, [&] { return make(parts); });
  };
  return waits;
}

}  // namespace batchcast::inline v0_1::detail
