// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "producer/awaited.hpp"

#include <batchcast/core/text.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace batchcast::inline v0_1::detail {
namespace {

/// The consumers that have not read all, those with the most left first.
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
  return text("`{}` ({}, {} behind{})", consumer.name,
              is_of_this_process(consumer) ? "this process" : text("pid {}", consumer.pid),
              consumer.lag, consumer.state == ConsumerState::stopped ? ", stopped" : "");
}

std::string whom_text(const ProducerStats& stats) {
  constexpr std::size_t named_max = 4;
  if (stats.consumers_to_come != 0) {
    return text("until {} more attach (wait_for)", stats.consumers_to_come);
  }
  const std::vector<const ConsumerInfo*> readers = readers_of(stats);
  if (readers.empty()) return "for a first consumer";
  std::string list = "until the rest is read by ";
  for (std::size_t i = 0; i < std::min(readers.size(), named_max); ++i) {
    list += (i == 0 ? "" : ", ") + text_of(*readers[i]);
  }
  if (readers.size() > named_max) {
    list += text(" and {} more", readers.size() - named_max);
  }
  return list;
}

}  // namespace

std::string awaited_text(const ProducerStats& stats, std::string_view stream) {
  std::string waits = text("its last epoch is made, and its producer waits {}.", whom_text(stats));
  if (std::any_of(stats.consumers.begin(), stats.consumers.end(), is_of_this_process)) {
    waits +=
        " Batches that this process holds have to be dropped before the producer is destroyed.";
  }
  return text("{} `batchcast stop {}` ends the wait, and linger_ms bounds it.", waits, stream);
}

}  // namespace batchcast::inline v0_1::detail
