// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/data/random.hpp>

#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

#include "catch.hpp"

namespace bc = batchcast;

TEST_CASE("Philox gives the published known answers") {
  CHECK(bc::philox4x32({0, 0, 0, 0}, {0, 0}) ==
        bc::PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(
      bc::philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}) ==
      bc::PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(
      bc::philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
      bc::PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("draws are pinned: another value here changes every stream") {
  bc::Draws draws({.seed = 1, .epoch = 2, .sample_id = 3}, 4);
  CHECK(draws.next_u32() == 0x205c37e4);
  CHECK(draws.next_u64() == 0x2d8731d7e54c9c05);
  CHECK(draws.below(1000) == 925);
  CHECK(draws.below(std::uint64_t{1} << 40) == 510383744571U);
  CHECK(draws.unit_f32() == 0x1.7aa1f4p-2F);

  const bc::DrawName name = bc::draw_name("sample", "horizontal_flip#0");
  CHECK(name.hash == 0xa52e49e5dafcc188);
  CHECK(bc::Draws({.seed = 1, .epoch = 2, .sample_id = 3}, name.in_view(0)).next_u64() ==
        0xdc1adb677a7cd378);
  CHECK(bc::Draws({.seed = 1, .epoch = 2, .sample_id = 3}, name.in_view(1)).next_u64() ==
        0x7da8f3b63595a731);
}

TEST_CASE("names of draws differ in every part of them") {
  std::set<std::uint64_t> names;
  for (const char* group : {"sample", "own image", "own images", ""}) {
    for (const char* path : {"flip#0", "flip#1", "flip#10", "0", ""}) {
      for (std::uint32_t view = 0; view < 64; ++view) {
        names.insert(bc::draw_name(group, path).in_view(view).hash);
      }
    }
  }
  CHECK(names.size() == 4 * 5 * 64);
  CHECK(bc::draw_name("ab", "c").hash != bc::draw_name("a", "bc").hash);
}

TEST_CASE("draws start over with the same key and differ in every part of it") {
  const bc::SampleKey key{.seed = 9, .epoch = 5, .sample_id = 77};
  bc::Draws first(key, 3);
  bc::Draws again(key, 3);
  for (int i = 0; i < 100; ++i) REQUIRE(first.next_u64() == again.next_u64());

  const auto start = [](const bc::SampleKey& of, std::uint32_t stage) {
    return bc::Draws(of, stage).next_u64();
  };
  std::set<std::uint64_t> starts = {start(key, 3), start(key, 4)};
  for (int bit = 0; bit < 64; ++bit) {
    const std::uint64_t flip = std::uint64_t{1} << bit;
    starts.insert(start({key.seed ^ flip, key.epoch, key.sample_id}, 3));
    starts.insert(start({key.seed, key.epoch ^ flip, key.sample_id}, 3));
    starts.insert(start({key.seed, key.epoch, key.sample_id ^ flip}, 3));
  }
  CHECK(starts.size() == 2 + 3 * 64);
}

TEST_CASE("below(n) stays below n and is uniform") {
  bc::Draws draws({.seed = 11}, 0);
  for (const std::uint64_t n : {1ULL, 2ULL, 3ULL, 7ULL, 1000ULL, 0xffff'ffffULL, 0x1'0000'0000ULL,
                                0x1'0000'0001ULL, 0xffff'ffff'ffff'ffffULL}) {
    for (int i = 0; i < 1000; ++i) REQUIRE(draws.below(n) < n);
  }

  // Three quarters of the range: scaling without rejection gives every third result twice as often,
  // and a remainder does so to the first third.
  for (const std::uint64_t n : {std::uint64_t{3} << 30, std::uint64_t{3} << 62}) {
    std::vector<int> thirds(3);
    std::vector<int> residues(3);
    constexpr int count = 300'000;
    for (int i = 0; i < count; ++i) {
      const std::uint64_t drawn = draws.below(n);
      ++thirds[drawn / (n / 3)];
      ++residues[drawn % 3];
    }
    for (const int third : thirds) CHECK(std::abs(third - count / 3) < 1500);
    for (const int residue : residues) CHECK(std::abs(residue - count / 3) < 1500);
  }
}

TEST_CASE("unit draws lie from 0 to below 1, with the mean and variance of a uniform") {
  bc::Draws draws({.seed = 12}, 0);
  constexpr int count = 200'000;
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < count; ++i) {
    const float narrow = draws.unit_f32();
    const double wide = draws.unit_f64();
    REQUIRE((narrow >= 0 && narrow < 1 && wide >= 0 && wide < 1));
    sum += narrow + wide;
    squares += narrow * static_cast<double>(narrow) + wide * wide;
  }
  CHECK(sum / (2 * count) == Approx(0.5).margin(0.003));
  CHECK(squares / (2 * count) == Approx(1.0 / 3).margin(0.003));
}
