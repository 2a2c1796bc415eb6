// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/receipt.hpp>
#include "served/host_ring.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

// In the simulation this file stands in place of the library's: its streams have no heads.
namespace batchcast::inline v0_1::detail {

class Heads {
 public:
  using Incarnation = std::array<std::uint8_t, 16>;
  struct Wanted {
    std::uint64_t position = 0;
    std::uint64_t batch_size = 1;
    std::optional<Receipt> before = {};
  };
  struct NotOpen {
    bool comes = false;
    std::string why = {};
  };

  [[nodiscard]] bool are_allowed() const noexcept { return false; }
  [[nodiscard]] std::vector<std::shared_ptr<HostRing>> list() const { return {}; }
  [[nodiscard]] bool has_free() const { return false; }
  [[nodiscard]] bool is_head(const ServedRing&) const { return false; }
  [[nodiscard]] bool had(const Incarnation&) const { return false; }
  [[nodiscard]] std::variant<std::shared_ptr<HostRing>, NotOpen> open(const Wanted&) {
    return NotOpen();
  }
  [[nodiscard]] std::variant<std::shared_ptr<HostRing>, NotOpen> open_now(const Wanted&) {
    return NotOpen();
  }
  [[nodiscard]] bool is_making() const { return false; }
  [[nodiscard]] std::optional<std::uint64_t> own_place_window_ns() const { return std::nullopt; }
  void close(const HostRing&) {}
  void look(std::uint64_t) {}
  void stop(const std::string&) noexcept {}
  void fail(const std::string&) noexcept {}
};

}  // namespace batchcast::inline v0_1::detail
