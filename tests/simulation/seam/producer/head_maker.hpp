// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "served/host_ring.hpp"
#include "simulation/scheduler.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

// In the simulation this file stands in place of the library's: without a thread. What is wanted is
// made as it is taken, after some asking.
namespace batchcast::inline v0_1::detail {

class HeadMaker {
 public:
  using Make = std::function<std::shared_ptr<HostRing>()>;
  struct Made {
    std::shared_ptr<HostRing> ring = {};
    std::string why_not = {};
  };

  void make(Make make) { wanted_ = std::move(make); }
  [[nodiscard]] bool is_making() const { return static_cast<bool>(wanted_); }
  [[nodiscard]] std::optional<Made> take() {
    if (!wanted_ || simulation::chance().one_in(3)) return std::nullopt;
    const Make make = std::exchange(wanted_, nullptr);
    return Made{make(), {}};
  }
  void wait() const {}
  void look(std::uint64_t) {}
  void free(std::shared_ptr<HostRing> ring) { ring.reset(); }

 private:
  Make wanted_;
};

}  // namespace batchcast::inline v0_1::detail
