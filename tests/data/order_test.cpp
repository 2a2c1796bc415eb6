// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/error.hpp>
#include <batchcast/data/order.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"

namespace bc = batchcast;

namespace {

std::vector<std::uint64_t> listed(const auto& permutation) {
  std::vector<std::uint64_t> indices(permutation.size());
  for (std::uint64_t i = 0; i < permutation.size(); ++i) indices[i] = permutation.index_at(i);
  return indices;
}

/// How many standard deviations a chi-square statistic lies above its mean. `df` is smaller than
/// cells − 1 where rows and columns have fixed sums.
double deviations(const std::vector<std::uint32_t>& cells, double expected, double df) {
  double chi_square = 0;
  for (const std::uint32_t count : cells) {
    chi_square += (count - expected) * (count - expected) / expected;
  }
  return (chi_square - df) / std::sqrt(2 * df);
}

}  // namespace

TEST_CASE("a permutation is bijective and inverted for every size up to 5,000", "[statistics]") {
  std::vector<bool> seen;
  for (std::uint64_t n = 1; n <= 5000; ++n) {
    for (std::uint64_t key = 0; key < (n <= 2000 ? 4U : 1U); ++key) {
      const bc::Permutation permutation(n, n * 31 + (key << 61) + key);
      seen.assign(n, false);
      for (std::uint64_t i = 0; i < n; ++i) {
        const std::uint64_t index = permutation.index_at(i);
        if (index >= n || seen[index] || permutation.offset_of(index) != i) {
          FAIL("size " << n << ", key " << key << ", offset " << i << ", index " << index);
        }
        seen[index] = true;
      }
    }
  }
}

TEST_CASE("a permutation of a large size is inverted and stays in range") {
  const unsigned seed = std::random_device{}();
  INFO("random seed " << seed);
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> sizes = {bc::samples_per_epoch_max, bc::samples_per_epoch_max - 1};
  for (int bits = 13; bits < 48; ++bits) {
    const std::uint64_t power = std::uint64_t{1} << bits;
    sizes.insert(sizes.end(), {power - 1, power, power + 1, power + random() % power});
  }
  for (const std::uint64_t n : sizes) {
    const bc::Permutation permutation(n, random());
    for (int i = 0; i < 500; ++i) {
      const std::uint64_t offset = i == 0 ? n - 1 : random() % n;
      const std::uint64_t index = permutation.index_at(offset);
      if (index >= n || permutation.offset_of(index) != offset) {
        FAIL("size " << n << ", offset " << offset << ", index " << index << ", random seed "
                     << seed);
      }
      REQUIRE(permutation.index_at(permutation.offset_of(offset)) == offset);
    }
  }
}

TEST_CASE("a permutation of a million is bijective") {
  const std::uint64_t n = 1'000'003;
  std::vector<bool> seen(n);
  const bc::Permutation permutation(n, 5);
  for (std::uint64_t i = 0; i < n; ++i) seen[permutation.index_at(i)] = true;
  CHECK(std::find(seen.begin(), seen.end(), false) == seen.end());
}

TEST_CASE("every permutation of up to six elements comes equally often", "[statistics]") {
  for (std::uint64_t n = 2; n <= 6; ++n) {
    std::map<std::vector<std::uint64_t>, std::uint32_t> counts;
    std::uint64_t factorial = 1;
    for (std::uint64_t i = 2; i <= n; ++i) factorial *= i;
    const std::uint64_t keys = 400 * factorial;
    // One key per epoch of one seed: the keys that are really used.
    for (std::uint64_t epoch = 0; epoch < keys; ++epoch) {
      ++counts[listed(bc::Order({.samples_per_epoch = n, .seed = 3}).epoch(epoch))];
    }
    REQUIRE(counts.size() == factorial);
    std::vector<std::uint32_t> cells;
    for (const auto& [permutation, count] : counts) cells.push_back(count);
    INFO("size " << n);
    CHECK(deviations(cells, 400, static_cast<double>(factorial - 1)) < 4);
  }
}

TEST_CASE("positions and pairs are uniform over the keys", "[statistics]") {
  constexpr std::uint64_t keys = 100'000;
  const auto mode = GENERATE(bc::OrderMode::reshuffle, bc::OrderMode::blocks);
  for (const std::uint64_t n : {7U, 8U, 16U, 17U, 20U, 32U, 33U, 64U, 100U}) {
    if (mode == bc::OrderMode::blocks && n != 16 && n != 33) continue;
    std::vector<std::uint32_t> places(n * n);
    std::vector<std::uint32_t> pairs(n * (n - 1));
    const bc::Order order(
        {.samples_per_epoch = n, .seed = 1, .mode = mode, .blocks = {.block_samples = 3}});
    for (std::uint64_t epoch = 0; epoch < keys; ++epoch) {
      const auto indices = listed(order.epoch(epoch));
      for (std::uint64_t i = 0; i < n; ++i) ++places[i * n + indices[i]];
      const std::uint64_t second = indices[n / 2] - (indices[n / 2] > indices[0] ? 1 : 0);
      ++pairs[indices[0] * (n - 1) + second];
    }
    const auto size = static_cast<double>(n);
    INFO("size " << n);
    CHECK(deviations(places, keys / size, (size - 1) * (size - 1)) < 4);
    CHECK(deviations(pairs, keys / (size * (size - 1)), size * (size - 1) - 1) < 4);
  }
}

TEST_CASE("within one epoch, offsets and neighbours do not predict indices", "[statistics]") {
  constexpr std::uint64_t bins = 64;
  for (const std::uint64_t n : {4096U, 50'000U, 1'281'167U}) {
    const bc::EpochOrder permutation = bc::Order({.samples_per_epoch = n, .seed = 4}).epoch(1);
    for (const std::uint64_t distance : {0U, 1U, 2U, 64U, 256U, 1024U}) {
      std::vector<std::uint32_t> cells(bins * bins);
      for (std::uint64_t i = 0; i + distance < n; ++i) {
        const std::uint64_t left = distance == 0 ? i : permutation.index_at(i);
        const std::uint64_t right = permutation.index_at(i + distance);
        ++cells[left * bins / n * bins + right * bins / n];
      }
      const double expected = static_cast<double>(n - distance) / (bins * bins);
      INFO("size " << n << ", distance " << distance);
      CHECK(std::abs(deviations(cells, expected, (bins - 1.0) * (bins - 1.0))) < 4.5);
    }
  }
}

TEST_CASE("epochs and seeds differ unless the mode says otherwise") {
  const std::uint64_t n = 1000;
  const auto epoch_of = [](bc::OrderMode mode, std::uint64_t seed, std::uint64_t epoch) {
    return listed(bc::Order({.samples_per_epoch = n, .seed = seed, .mode = mode}).epoch(epoch));
  };
  const auto same_places = [](const auto& a, const auto& b) {
    int same = 0;
    for (std::size_t i = 0; i < a.size(); ++i) same += a[i] == b[i] ? 1 : 0;
    return same;
  };
  const auto first = epoch_of(bc::OrderMode::reshuffle, 0, 0);
  CHECK(same_places(first, epoch_of(bc::OrderMode::reshuffle, 0, 1)) < 10);
  CHECK(same_places(first, epoch_of(bc::OrderMode::reshuffle, 1, 0)) < 10);
  CHECK(same_places(epoch_of(bc::OrderMode::reshuffle, 0, 1),
                    epoch_of(bc::OrderMode::reshuffle, 1, 0)) < 10);
  CHECK(epoch_of(bc::OrderMode::fixed, 0, 0) == first);
  CHECK(epoch_of(bc::OrderMode::fixed, 0, 7) == first);
  CHECK(epoch_of(bc::OrderMode::fixed, 1, 7) != first);

  const auto sequential = epoch_of(bc::OrderMode::sequential, 3, 2);
  CHECK(std::is_sorted(sequential.begin(), sequential.end()));
  CHECK(sequential.front() == 0);
}

TEST_CASE("Order looks up both ways in every mode") {
  for (const std::uint64_t n : {1ULL, 5ULL, 16ULL, 17ULL, 60'000ULL, 1ULL << 48}) {
    for (const auto mode :
         {bc::OrderMode::reshuffle, bc::OrderMode::fixed, bc::OrderMode::sequential}) {
      const bc::Order order({.samples_per_epoch = n, .seed = 8, .mode = mode});
      for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
        for (const std::uint64_t offset : {std::uint64_t{0}, n / 3, n - 1}) {
          const std::uint64_t id = order.sample_id_at(epoch, offset);
          REQUIRE(id < n);
          REQUIRE(order.offset_of(epoch, id) == offset);
          if (mode == bc::OrderMode::sequential) REQUIRE(id == offset);
        }
      }
    }
  }
}

TEST_CASE("every mode visits each sample once, for every size up to 5,000", "[statistics]") {
  struct Shape {
    bc::OrderMode mode;
    bc::BlockOptions blocks;
  };
  const auto unlimited = ~std::uint64_t{0};
  const std::vector<Shape> shapes = {{bc::OrderMode::reshuffle, {}},
                                     {bc::OrderMode::fixed, {}},
                                     {bc::OrderMode::sequential, {}},
                                     {bc::OrderMode::blocks, {}},
                                     {bc::OrderMode::blocks, {7, 3}},
                                     {bc::OrderMode::blocks, {1, 1}},
                                     {bc::OrderMode::blocks, {1, 20}},
                                     {bc::OrderMode::blocks, {64, 1}},
                                     {bc::OrderMode::blocks, {unlimited, unlimited}},
                                     {bc::OrderMode::blocks, {100, unlimited}}};
  std::vector<bool> seen;
  const std::size_t first_of_blocks = 3;
  for (std::uint64_t n = 1; n <= 5000; ++n) {
    for (std::size_t s = 0; s < shapes.size(); ++s) {
      // The first three are one Permutation, tested above; the larger sizes get one shape each.
      const std::size_t turn = first_of_blocks + n % (shapes.size() - first_of_blocks);
      if (n > 500 && s != turn) continue;
      const auto order = bc::Order({.samples_per_epoch = n,
                                    .seed = n,
                                    .mode = shapes[s].mode,
                                    .blocks = shapes[s].blocks})
                             .epoch(n % 3);
      seen.assign(n, false);
      for (std::uint64_t i = 0; i < n; ++i) {
        const std::uint64_t index = order.index_at(i);
        if (index >= n || seen[index] || order.offset_of(index) != i) {
          FAIL("size " << n << ", shape " << s << ", offset " << i << ", index " << index);
        }
        seen[index] = true;
      }
    }
  }
}

TEST_CASE("blocks of large datasets are inverted and stay in range") {
  const unsigned seed = std::random_device{}();
  INFO("random seed " << seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 20'000; ++i) {
    const auto up_to = [&](std::uint64_t most) { return 1 + random() % most; };
    const std::uint64_t n =
        i < 10 ? bc::samples_per_epoch_max : up_to(std::uint64_t{1} << up_to(48));
    const bc::BlockOptions blocks{up_to(std::uint64_t{1} << (random() % 50)),
                                  up_to(std::uint64_t{1} << (random() % 50))};
    const auto order = bc::Order({.samples_per_epoch = n,
                                  .seed = random(),
                                  .mode = bc::OrderMode::blocks,
                                  .blocks = blocks})
                           .epoch(random());
    for (const std::uint64_t offset : {random() % n, random() % n, n - 1}) {
      const std::uint64_t index = order.index_at(offset);
      if (index >= n || order.offset_of(index) != offset) {
        FAIL("size " << n << ", blocks of " << blocks.block_samples << ", windows of "
                     << blocks.window_blocks << ", offset " << offset << ", index " << index
                     << ", random seed " << seed);
      }
    }
  }
}

TEST_CASE("the samples of a window come from its blocks only, and are shuffled") {
  for (const std::uint64_t n : {4000U, 4001U, 4063U}) {
    const std::uint64_t block = 64;
    const std::uint64_t window = 4;
    const bc::Order order({.samples_per_epoch = n,
                           .seed = 2,
                           .mode = bc::OrderMode::blocks,
                           .blocks = {block, window}});
    for (std::uint64_t epoch = 0; epoch < 5; ++epoch) {
      const auto indices = listed(order.epoch(epoch));
      std::set<std::uint64_t> done;
      std::uint64_t neighbours = 0;
      for (std::uint64_t at = 0; at < n;) {
        // A window ends where its blocks have given all that they have.
        std::map<std::uint64_t, std::uint64_t> taken;
        const auto whole = [&] {
          return std::all_of(taken.begin(), taken.end(), [&](const auto& entry) {
            return entry.second == std::min(block, n - entry.first * block);
          });
        };
        do {
          ++taken[indices[at] / block];
          neighbours += at > 0 && indices[at] == indices[at - 1] + 1 ? 1 : 0;
          ++at;
        } while (at < n && !(taken.size() == window && whole()));
        REQUIRE(whole());
        REQUIRE((taken.size() == window || at == n));
        for (const auto& entry : taken) REQUIRE(done.insert(entry.first).second);
      }
      CHECK(neighbours < n / 50);
    }
    CHECK(listed(order.epoch(0)) != listed(order.epoch(1)));
  }
}

TEST_CASE("shards are disjoint, equally long, and all but the epoch's end") {
  const auto mode = GENERATE(bc::OrderMode::reshuffle, bc::OrderMode::fixed,
                             bc::OrderMode::sequential, bc::OrderMode::blocks);
  for (const std::uint64_t n : {1U, 2U, 7U, 16U, 100U, 1003U}) {
    for (const std::uint64_t count : {1U, 2U, 3U, 7U, 64U, 1003U}) {
      if (count > n) continue;
      const bc::OrderOptions whole{
          .samples_per_epoch = n, .seed = 5, .mode = mode, .blocks = {8, 3}};
      for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
        const auto all = listed(bc::Order(whole).epoch(epoch));
        std::vector<std::uint64_t> shared;
        for (std::uint64_t i = 0; i < count; ++i) {
          bc::OrderOptions options = whole;
          options.shard = {i, count};
          const bc::Order order(options);
          REQUIRE(order.samples_per_epoch() == n / count);
          REQUIRE(order.dataset_samples() == n);
          const bc::EpochOrder share = order.epoch(epoch);
          REQUIRE(share.size() == n / count);
          for (std::uint64_t id = 0; id < n; ++id) {
            const auto offset = share.offset_of(id);
            if (offset) REQUIRE(share.index_at(*offset) == id);
          }
          for (const std::uint64_t id : listed(share)) shared.push_back(id);
        }
        REQUIRE(std::equal(shared.begin(), shared.end(), all.begin()));
        REQUIRE(all.size() - shared.size() < count);
      }
    }
  }
}

TEST_CASE("impossible blocks and shards are refused, with a text that says why") {
  const auto text_of = [](const bc::OrderOptions& options) -> std::string {
    try {
      static_cast<void>(bc::Order(options));
    } catch (const bc::InvalidArgument& error) {
      return error.what();
    }
    return {};
  };
  const auto contains = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  bc::OrderOptions options{.samples_per_epoch = 10, .mode = bc::OrderMode::blocks};
  CHECK(text_of(options).empty());
  options.blocks = {0, 4};
  CHECK(contains(text_of(options), "block_samples"));
  options.blocks = {4, 0};
  CHECK(contains(text_of(options), "window_blocks"));
  options.blocks = {};
  options.shard = {10, 10};
  CHECK(contains(text_of(options), "10/10"));
  options.shard = {0, 0};
  CHECK(contains(text_of(options), "0/0"));
  options.shard = {0, 11};
  CHECK(contains(text_of(options), "11 shards"));
  options.shard = {9, 10};
  CHECK(text_of(options).empty());
}

TEST_CASE("the order is pinned: another value here changes every stream") {
  CHECK(listed(bc::Order({.samples_per_epoch = 8, .seed = 1}).epoch(0)) ==
        std::vector<std::uint64_t>{7, 1, 2, 3, 5, 4, 0, 6});
  const bc::Order imagenet({.samples_per_epoch = 1'281'167, .seed = 42});
  CHECK(imagenet.sample_id_at(3, 0) == 615699);
  CHECK(imagenet.sample_id_at(3, 1'281'166) == 645878);
  CHECK(bc::Order({.samples_per_epoch = 1000}).sample_id_at(0, 1) == 410);
  const bc::Order blocks({.samples_per_epoch = 1'281'167, .mode = bc::OrderMode::blocks});
  CHECK(blocks.sample_id_at(3, 0) == 1225662);
  CHECK(blocks.sample_id_at(3, 1'281'166) == 1137296);
}

TEST_CASE("an impossible size is refused") {
  for (const std::uint64_t n : {std::uint64_t{0}, bc::samples_per_epoch_max + 1}) {
    CHECK_THROWS_AS(bc::Order({.samples_per_epoch = n}), bc::InvalidArgument);
  }
  CHECK(bc::parse_order_mode("fixed") == bc::OrderMode::fixed);
  CHECK_FALSE(bc::parse_order_mode("random"));
}

// Not run by default: batchcast_tests "[.speed]"
TEST_CASE("speed of a lookup", "[.speed]") {
  const auto mode = GENERATE(bc::OrderMode::reshuffle, bc::OrderMode::blocks);
  for (const std::uint64_t n :
       {10ULL, 17ULL, 256ULL, 257ULL, 1025ULL, 1'281'167ULL, (1ULL << 40) + 1}) {
    const bc::Order order({.samples_per_epoch = n, .seed = 8, .mode = mode});
    const bc::EpochOrder permutation = order.epoch(0);
    constexpr std::uint64_t count = 4'000'000;
    const auto nanoseconds = [n](auto&& look_up) {
      const std::clock_t start = std::clock();
      std::uint64_t sum = 0;
      for (std::uint64_t i = 0, offset = 0; i < count; ++i) {
        sum += look_up(i, offset);
        offset = offset + 1 == n ? 0 : offset + 1;
      }
      const double taken = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
      return std::pair(taken * 1e9 / count, sum);
    };
    const auto within = nanoseconds(
        [&](std::uint64_t, std::uint64_t offset) { return permutation.index_at(offset); });
    const auto inverse = nanoseconds(
        [&](std::uint64_t, std::uint64_t offset) { return *permutation.offset_of(offset); });
    const auto whole = nanoseconds(
        [&](std::uint64_t i, std::uint64_t offset) { return order.sample_id_at(i, offset); });
    WARN(bc::name_of(mode) << ", size " << n << ": index_at " << within.first << " ns, offset_of "
                           << inverse.first << " ns, Order::sample_id_at in any epoch "
                           << whole.first << " ns ("
                           << (within.second ^ inverse.second ^ whole.second) << ")");
  }
}
