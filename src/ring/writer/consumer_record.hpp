// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/options.hpp>
#include <batchcast/core/text.hpp>
#include <batchcast/ring/layout.hpp>
#include "ring/writer/joining.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace batchcast::inline v0_1 {

/// One attached consumer or mirror, as the producer knows it.
struct ConsumerRecord {
  std::uint32_t index = 0;  ///< of its entry on the board
  std::uint64_t consumer_id = 0;
  std::shared_ptr<Desk> desk;
  Pace pace = Pace::lockstep;
  bool paused = false;    ///< does not gate
  bool observes = false;  ///< paused for good
  bool mirrors = false;
  bool fresh = true;               ///< it had no batch when it last paused
  std::uint64_t released_min = 0;  ///< the last `released` accepted from its desk
  std::uint64_t released_max = 0;  ///< its desk may say this much, even beyond what is published
  std::uint64_t skipping = 0;      ///< e + 1: it skips epoch e, whose end was not known
  std::uint32_t pid = 0;
  std::string name;
  Group group;
  std::uint64_t epochs_ended = 0;  ///< for a rank: it has reported the end of all epochs below
  std::uint64_t admitted_at = 0;
  std::uint64_t waited_for_ns = 0;  ///< the full ring waited for this one

  [[nodiscard]] bool is_trainer() const noexcept { return !observes && !mirrors; }
  /// In `wait_for` a group counts as one trainer: the one of rank 0.
  [[nodiscard]] bool is_job() const noexcept { return is_trainer() && group.rank == 0; }
  /// What reports call it.
  [[nodiscard]] std::string title() const { return text("consumer `{}` (pid {})", name, pid); }
};

}  // namespace batchcast::inline v0_1
