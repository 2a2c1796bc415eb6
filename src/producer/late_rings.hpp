// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/log.hpp>
#include "served/served_ring.hpp"

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// Who reads rings on GPUs of an earlier producer that was killed: `a` (pid 7), `b` (pid 8). They
/// drain them, and give them up. Empty where no such trainer lives. `directory`: the stream's.
[[nodiscard]] std::string who_reads_on_gpus(const std::string& directory);

/// Rings for GPUs that had no room when the producer began, since trainers still read the ring of
/// the producer before. A thread makes each as soon as there is room; all other rings serve
/// meanwhile. Thread-safe.
class LateRings {
 public:
  using Make = std::function<std::unique_ptr<ServedRing>()>;
  /// `who_reads` names the trainers that may give room back, as who_reads_on_gpus does. Once it
  /// names none, a ring without room is given up.
  LateRings(std::function<std::string()> who_reads, LogCallback log);
  ~LateRings();
  LateRings(const LateRings&) = delete;
  LateRings& operator=(const LateRings&) = delete;

  /// A trainer may give room back.
  [[nodiscard]] bool may_wait() const { return who_reads_ && !who_reads_().empty(); }
  /// `id`: of the ring. `why`: the error's text. Throws SystemError where no thread can start.
  void add(std::string id, const std::string& why, Make make);
  /// Of a ring that is waited for: what it waits for; nothing for others.
  [[nodiscard]] std::optional<std::string> reason_of(std::string_view id) const;
  /// Those that were made since, each once.
  [[nodiscard]] std::vector<std::unique_ptr<ServedRing>> take();
  /// Makes none from here on. Waits for one that is being made.
  void end() noexcept;

 private:
  struct Late {
    std::string id;
    std::string why;
    Make make;
  };

  void run() noexcept;
  /// False as long as it has to wait.
  [[nodiscard]] bool try_make(const Late& late) noexcept;
  void say(LogLevel level, std::string_view text) const {
    if (log_) log_(level, text);
  }

  const std::function<std::string()> who_reads_;
  const LogCallback log_;
  mutable std::mutex mutex_;  ///< of what follows, but the thread
  std::condition_variable ending_;
  std::vector<std::shared_ptr<const Late>> waiting_;
  std::vector<std::unique_ptr<ServedRing>> made_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace batchcast::inline v0_1::detail
