// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstdint>
#include <span>

namespace batchcast::inline v0_1 {

/// How many samples, and a hash of their ids that does not depend on their order. Producer and
/// consumer each add one up over an epoch; two that differ prove a loss or a repeat.
struct Receipt {
  std::uint64_t count = 0;
  std::uint64_t hash = 0;

  void add(std::span<const std::uint64_t> sample_ids) noexcept {
    std::uint64_t sum = 0;
    for (const std::uint64_t id : sample_ids) sum += mix(id);
    count += sample_ids.size();
    hash += sum;
  }
  void add(const Receipt& other) noexcept {
    count += other.count;
    hash += other.hash;
  }

  friend bool operator==(const Receipt&, const Receipt&) = default;

 private:
  // A bijection with full avalanche (two rounds of multiply and xor-shift), so that sums of
  // distinct multisets of ids collide only by chance.
  [[nodiscard]] static constexpr std::uint64_t mix(std::uint64_t x) noexcept {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
    x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
    return x ^ (x >> 32);
  }
};

}  // namespace batchcast::inline v0_1
