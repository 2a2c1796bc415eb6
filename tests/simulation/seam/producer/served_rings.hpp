// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "producer/heads.hpp"
#include "served/host_ring.hpp"
#include "served/served_ring.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// In the simulation this file stands in place of the library's: a producer with one ring.
namespace batchcast::inline v0_1::detail {

class ServedRings {
 public:
  ServedRings(Board board, RingWriter::Options options) : host_(board, std::move(options)) {}

  [[nodiscard]] HostRing& host() const noexcept { return host_; }
  [[nodiscard]] std::array<ServedRing*, 1> all() const noexcept { return {&host_}; }
  [[nodiscard]] Heads& heads() const noexcept { return heads_; }
  [[nodiscard]] ServedRing* find(std::string_view id) const noexcept {
    return id == host_.id() ? &host_ : nullptr;
  }
  [[nodiscard]] const std::string& name_at_door(const ServedRing& ring) const noexcept {
    return ring.id();
  }
  [[nodiscard]] std::string places() const { return "in host memory"; }
  [[nodiscard]] std::vector<std::string> consumer_names() const {
    std::vector<std::string> names;
    for (ConsumerStatus& one : host_.writer().status().consumers) {
      names.push_back(std::move(one.name));
    }
    return names;
  }
  bool count_trainers() { return host_.writer().set_trainers_elsewhere(0); }
  void note_leave(ServedRing&) {}
  void fail(const std::string& text) noexcept { host_.writer().fail(text); }
  [[nodiscard]] std::uint64_t samples_published() const {
    return host_.writer().samples_published();
  }

 private:
  mutable HostRing host_;
  mutable Heads heads_;
};

}  // namespace batchcast::inline v0_1::detail
