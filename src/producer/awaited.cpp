// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "producer/awaited.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace batchcast::inline v0_1::detail {
namespace {

/// Of the consumers that have not read all, those that are the furthest behind come first.
std::vector<const ConsumerInfo*> readers_of(const ProducerStats& stats) {
  std::vector<const ConsumerInfo*> readers;
  for (const ConsumerInfo& one : stats.consumers) {
    const bool waits = one.state == ConsumerState::paused || one.state == ConsumerState::observing;
    if (!waits) readers.push_back(&one);
  }
  std::sort(readers.begin(), readers.end(),
            [](const auto* one, const auto* other) { return one->lag > other->lag; });
  return readers;
}

bool is_of_this_process(const ConsumerInfo& consumer) {
  return consumer.pid == static_cast<std::uint32_t>(::getpid());
}

std::string text_of(const ConsumerInfo& consumer) {
  return "`" + consumer.name + "` (" +
         (is_of_this_process(consumer) ? "this process" : "pid " + std::to_string(consumer.pid)) +
         ", " + std::to_string(consumer.lag) + " behind" +
         (consumer.state == ConsumerState::stopped ? ", stopped" : "") + ")";
}

std::string whom_text(const ProducerStats& stats) {
  constexpr std::size_t named_max = 4;
  if (stats.consumers_to_come != 0) {
    return "until " + std::to_string(stats.consumers_to_come) + " more attach (wait_for)";
  }
  const std::vector<const ConsumerInfo*> readers = readers_of(stats);
  if (readers.empty()) return "for a first consumer";
  std::string text = "until the rest is read by ";
  for (std::size_t i = 0; i < std::min(readers.size(), named_max); ++i) {
    text += (i == 0 ? "" : ", ") + text_of(*readers[i]);
  }
  if (readers.size() > named_max) {
    text += " and " + std::to_string(readers.size() - named_max) + " more";
  }
  return text;
}

}  // namespace

std::string awaited_text(const ProducerStats& stats, std::string_view stream) {
  std::string text = "its last epoch is made, and its producer waits " + whom_text(stats) + ".";
  if (std::any_of(stats.consumers.begin(), stats.consumers.end(), is_of_this_process)) {
    text += " Batches that this process holds have to be dropped before the producer is destroyed.";
  }
  return text + " `batchcast stop " + std::string(stream) +
         "` ends the wait, and linger_ms bounds it.";
}

}  // namespace batchcast::inline v0_1::detail
