// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "producer/work_shares.hpp"

#include "../catch.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

using namespace batchcast::detail;

namespace {

/// Rings by name, of which some want nothing.
struct Rings {
  std::vector<WorkShares::Ring> all;
  std::map<std::size_t, bool> is_full = {};
  std::map<std::size_t, std::uint64_t> got = {};
  WorkShares shares{0.7};

  void work(std::uint64_t loans, std::uint64_t samples = 4) {
    for (std::uint64_t i = 0; i < loans; ++i) {
      std::vector<std::size_t> order(all.size(), all.size());
      shares.order(all, order);
      std::vector<std::size_t> refused;
      for (const std::size_t at : order) {
        if (is_full[at]) {
          refused.push_back(at);
          continue;
        }
        shares.note(all, refused, at, samples);
        got[at] += samples;
        break;
      }
    }
  }
};

std::array<int, 4> names{};

WorkShares::Ring ring(std::size_t i, bool is_head, std::uint64_t published) {
  return {&names[i], is_head, published};
}

}  // namespace

TEST_CASE("the hindmost head gets its share, and the others the rest by turns") {
  Rings rings{{ring(0, false, 9'000), ring(1, true, 100), ring(2, true, 500)}};
  rings.work(10'000);
  CHECK(rings.got[1] == Approx(28'000).epsilon(0.01));
  CHECK(rings.got[0] == Approx(6'000).epsilon(0.01));
  CHECK(rings.got[2] == Approx(6'000).epsilon(0.01));
}

TEST_CASE("work that one ring does not want goes to the others, and is not owed to it") {
  Rings rings{{ring(0, false, 9'000), ring(1, true, 100)}};
  rings.is_full[1] = true;
  rings.work(5'000);
  CHECK(rings.got[0] == 20'000);
  rings.is_full[1] = false;
  rings.work(100);
  CHECK(rings.got[1] == Approx(280).margin(12));
  rings.is_full[0] = true;
  rings.work(1'000);
  rings.is_full[0] = false;
  const std::uint64_t before = rings.got[0];
  rings.work(1'000);
  CHECK(rings.got[0] - before == Approx(1'200).margin(24));
}

TEST_CASE("a new head is owed nothing from before, and a closed one leaves no trace") {
  Rings rings{{ring(0, false, 9'000)}};
  rings.work(10'000);
  rings.all.push_back(ring(1, true, 100));
  rings.work(1'000);
  CHECK(rings.got[1] == Approx(2'800).margin(12));
  rings.shares.forget(rings.all[1].id);
  rings.all.pop_back();
  rings.work(10);
  CHECK(rings.got[0] == Approx(40'000 + 1'200 + 40).margin(12));
}

TEST_CASE("the shares that are shown are of time") {
  WorkShares shares(0.7);
  constexpr std::uint64_t second = 1'000'000'000;
  shares.look(second);
  shares.worked(&names[0], 30);
  shares.worked(&names[1], 70);
  shares.look(second + second / 2);
  CHECK(shares.share(&names[1]) == 0);
  shares.look(2 * second);
  CHECK(shares.share(&names[0]) == Approx(0.3));
  CHECK(shares.share(&names[1]) == Approx(0.7));
  CHECK(shares.share(&names[2]) == 0);
  shares.look(3 * second);
  CHECK(shares.share(&names[1]) == 0);
}
