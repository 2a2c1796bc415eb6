// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "../catch.hpp"

#include <batchcast/ring/batch_share.hpp>

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

using namespace batchcast;

TEST_CASE("the shares of a batch are all of it, each sample once") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 2'000; ++round) {
    const std::uint64_t count = 1 + random() % 9;
    const std::uint64_t samples = 1 + random() % 12;
    const std::uint64_t there = 1 + random() % (count * samples);
    const Tail tail = static_cast<Tail>(random() % 3);
    CAPTURE(count, samples, there, name_of(tail));
    std::vector<int> seen(there);
    std::optional<std::uint64_t> size;
    std::uint64_t padding = 0;
    std::uint64_t dropped = 0;
    for (std::uint64_t index = 0; index < count; ++index) {
      const BatchShare share(index, count, tail);
      const auto part = share.part_of(samples, there);
      const std::uint64_t own_size = part ? part->size : 0;
      CHECK(size.value_or(own_size) == own_size);  // the same for all
      size = own_size;
      if (!part) continue;
      for (std::uint64_t i = 0; i < part->size; ++i) {
        const bool repeats = i >= part->size - part->padding;
        seen[(part->offset + i) % there] += repeats ? 0 : 1;
        padding += repeats ? 1 : 0;
      }
      dropped = part->dropped;
    }
    const bool whole = there == count * samples;
    std::uint64_t left_out = 0;
    for (const int times : seen) {
      CHECK(times <= 1);
      left_out += times == 0 ? 1 : 0;
    }
    if (whole || tail == Tail::pad) CHECK((left_out == 0 && *size == samples));
    CHECK(padding == (!whole && tail == Tail::pad ? count * samples - there : 0));
    if (!whole && tail == Tail::drop) CHECK(*size == 0);
    if (!whole && tail == Tail::keep) {
      CHECK(*size == there / count);
      CHECK(left_out == there % count);
      CHECK((dropped == left_out || *size == 0));
    }
  }
}

TEST_CASE("a whole batch of all shares stays within the positions that there are") {
  const BatchShare share(0, 3, Tail::keep);
  CHECK(share.whole(7) == 21);
  CHECK(share.whole(limits::position_max / 3) == limits::position_max / 3 * 3);
  CHECK(share.whole(limits::position_max / 3 + 1) == limits::position_max);
  CHECK(share.whole(limits::position_max) == limits::position_max);
}
