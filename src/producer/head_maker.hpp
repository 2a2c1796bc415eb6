// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "served/host_ring.hpp"

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// Makes the rings of heads, one at a time, and frees them. Both may take seconds, so a thread does
/// it, which starts with the first ring. The door's thread calls it.
class HeadMaker {
 public:
  HeadMaker() = default;
  /// Waits for what is under way.
  ~HeadMaker();
  HeadMaker(const HeadMaker&) = delete;
  HeadMaker& operator=(const HeadMaker&) = delete;

  using Make = std::function<std::shared_ptr<HostRing>()>;
  /// `is_making` must be false. Throws SystemError where the thread cannot start.
  void make(Make make);
  /// Whether a ring is being made, or waits to be taken.
  [[nodiscard]] bool is_making() const;
  struct Made {
    std::shared_ptr<HostRing> ring = {};
    std::string why_not = {};  ///< what the maker threw, where there is no ring
  };
  /// Nothing while it is being made.
  [[nodiscard]] std::optional<Made> take();
  /// Returns once no ring is being made.
  void wait() const;
  /// Frees a ring that was not taken for some seconds.
  void look(std::uint64_t now_ns);
  void free(std::shared_ptr<HostRing> ring);

 private:
  void run() noexcept;

  mutable std::mutex mutex_;  ///< of what follows, but the thread
  mutable std::condition_variable changed_;
  Make wanted_;
  bool makes_ = false;
  std::optional<Made> made_;
  std::uint64_t made_ns_ = 0;
  std::vector<std::shared_ptr<HostRing>> to_free_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace batchcast::inline v0_1::detail
