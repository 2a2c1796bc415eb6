// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/packed/block_arranger.hpp"
#include "data/packed/budget_fill.hpp"
#include "data/packed/space_index.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/data/order.hpp>
#include <batchcast/ring/row_cut.hpp>

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "catch.hpp"

using namespace batchcast;

namespace {

using Lengths = std::vector<std::uint32_t>;
using Draw = std::function<std::uint32_t(std::mt19937_64&)>;

constexpr std::uint64_t budget_8k = 8192;

OrderOptions packed_options(Lengths lengths, const PackedOptions& packed, std::uint64_t seed = 1) {
  OrderOptions options;
  options.samples_per_epoch = lengths.size();
  options.seed = seed;
  options.mode = OrderMode::packed;
  options.packed = packed;
  options.lengths = std::make_shared<StoredLengths>(std::move(lengths));
  return options;
}

Lengths drawn(std::size_t samples, const Draw& draw, std::uint64_t seed = 5) {
  std::mt19937_64 random(seed);
  Lengths lengths(samples);
  for (std::uint32_t& length : lengths) length = draw(random);
  return lengths;
}

/// As texts have them: their mean is `mean` before the cut.
Draw lognormal(double mean, double deviation, std::uint32_t cut) {
  return [=](std::mt19937_64& random) {
    std::lognormal_distribution<double> draw(std::log(mean) - deviation * deviation / 2, deviation);
    return static_cast<std::uint32_t>(std::clamp(draw(random), 1.0, static_cast<double>(cut)));
  };
}
Draw uniform(std::uint32_t low, std::uint32_t high) {
  return [=](std::mt19937_64& random) {
    return low + static_cast<std::uint32_t>(random() % (high - low + 1));
  };
}
Draw always(std::uint32_t length) {
  return [=](std::mt19937_64&) { return length; };
}
Draw either(unsigned percent, Draw first, Draw second) {
  return [=](std::mt19937_64& random) {
    return random() % 100 < percent ? first(random) : second(random);
  };
}

std::vector<std::uint64_t> listed(const EpochOrder& order) {
  std::vector<std::uint64_t> ids(order.size());
  for (std::uint64_t i = 0; i < ids.size(); ++i) ids[i] = order.index_at(i);
  return ids;
}

std::vector<std::uint64_t> epoch_of(const OrderOptions& options, std::uint64_t epoch = 0) {
  return listed(Order(options).epoch(epoch));
}

/// What a trainer with that budget gets of samples in that order, cut as its reader cuts them.
struct Cuts {
  std::uint64_t batches = 0;
  std::uint64_t rows = 0;
  std::uint64_t oversized = 0;

  [[nodiscard]] double fill(std::uint64_t budget) const {
    return static_cast<double>(rows) / static_cast<double>(batches * budget);
  }
};

Cuts cut(const std::vector<std::uint64_t>& ids, const Lengths& lengths, std::uint64_t budget) {
  std::vector<RowEntry> entries(ids.size());
  std::uint64_t row = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    ordered::set(entries[i].first, row);
    ordered::set(entries[i].rows, std::uint64_t{lengths[ids[i]]});
    row += lengths[ids[i]];
  }
  const RowTable table(entries.data(), entries.size(), row + 1);
  RowCut cutter(1);
  Cuts cuts;
  RowCut::There there{0, ids.size(), true};
  while (cutter.cut(table, {0, budget, Oversize::alone}, ids.size(), there) ==
         RowCut::Found::batch) {
    const RowRun& run = cutter.runs().front();
    cuts.oversized += run.oversized ? 1 : 0;
    cuts.batches += run.oversized ? 0 : 1;
    cuts.rows += run.oversized ? 0 : run.rows;
    there.begin = cutter.end();
  }
  return cuts;
}

/// Lengths that it computes, and counts what is asked.
class CountedLengths final : public RowLengths {
 public:
  explicit CountedLengths(std::uint64_t samples = 1000) : samples_(samples) {}
  [[nodiscard]] std::uint64_t size() const noexcept override { return samples_; }
  [[nodiscard]] std::uint64_t operator[](std::uint64_t sample_id) const noexcept override {
    ++asked;
    return sample_id % 77;
  }
  mutable std::atomic<std::uint64_t> asked{0};

 private:
  std::uint64_t samples_;
};

std::uint32_t some_length(std::uint64_t i) {
  const std::uint64_t mixed = detail::mix64(i);
  return static_cast<std::uint32_t>(mixed % 7 == 0 ? 0 : mixed % 50);
}

}  // namespace

TEST_CASE("a packed epoch has each sample once, and is inverted", "[packed]") {
  const auto seed = std::random_device()();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 600; ++round) {
    const std::size_t samples = 1 + random() % (round % 10 == 0 ? 3000 : 200);
    const auto longest = static_cast<std::uint32_t>(random() % 40);
    const PackedOptions packed{"tokens", 1 + random() % 100, 2 + random() % 300};
    const auto order =
        Order(packed_options(drawn(samples, uniform(0, longest), random()), packed, random()))
            .epoch(random() % 3);
    std::vector<bool> seen(samples);
    for (std::uint64_t i = 0; i < samples; ++i) {
      const std::uint64_t id = order.index_at(i);
      if (id >= samples || seen[id] || order.offset_of(id) != i) {
        FAIL(samples << " samples, offset " << i << ", id " << id);
      }
      seen[id] = true;
    }
  }
}

TEST_CASE("a packed block has the samples of its part of the shuffle", "[packed]") {
  const OrderOptions options = packed_options(drawn(1000, uniform(1, 30)), {"tokens", 100, 64}, 9);
  const auto packed = epoch_of(options, 4);
  OrderOptions shuffle = options;
  shuffle.mode = OrderMode::reshuffle;
  const auto shuffled = epoch_of(shuffle, 4);
  for (std::size_t begin = 0; begin < 1000; begin += 64) {
    const auto end = static_cast<std::ptrdiff_t>(std::min<std::size_t>(begin + 64, 1000));
    const auto part = [&](const std::vector<std::uint64_t>& all) {
      return std::multiset<std::uint64_t>(all.begin() + static_cast<std::ptrdiff_t>(begin),
                                          all.begin() + end);
    };
    REQUIRE(part(packed) == part(shuffled));
  }
}

TEST_CASE("any position of a packed epoch is found alone, by any thread", "[packed]") {
  const OrderOptions options = packed_options(drawn(5000, uniform(0, 300)), {"tokens", 1000, 128});
  // Blocks of epoch 32 take the places of those of epoch 0, block by block.
  const std::vector<std::uint64_t> numbers = {0, 1, 2, 32};
  std::vector<std::vector<std::uint64_t>> epochs;
  for (const std::uint64_t number : numbers) epochs.push_back(epoch_of(options, number));
  const auto differs = [&](const Order& order, std::uint64_t at) {
    const std::uint64_t part = at / 5000;
    return order.sample_id_at(numbers[part], at % 5000) != epochs[part][at % 5000];
  };
  std::mt19937_64 random(3);
  for (int i = 0; i < 200; ++i) REQUIRE_FALSE(differs(Order(options), random() % 20'000));

  const Order shared(options);
  std::vector<int> wrong(4);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      std::mt19937_64 own(t);
      for (std::uint64_t i = 0; i < 40'000; ++i) {  // two go through, two jump about
        wrong[t] += differs(shared, t < 2 ? i % 20'000 : own() % 20'000) ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(4));
}

TEST_CASE("a position takes the lengths of its block, and the next one is arranged ahead",
          "[packed]") {
  const auto lengths = std::make_shared<CountedLengths>();
  OrderOptions options = packed_options(Lengths(1), {"tokens", 500, 100});
  options.samples_per_epoch = lengths->size();
  options.lengths = lengths;
  options.shard = {1, 3};  // it begins and ends within a block
  const Order order(options);
  const EpochOrder epoch = order.epoch(2);
  CHECK(lengths->asked == 0);
  static_cast<void>(epoch.index_at(0));  // offset 333: the last 67 of block 3
  CHECK(lengths->asked == 100);
  for (std::uint64_t i = 1; i < 60; ++i) static_cast<void>(epoch.index_at(i));
  CHECK(lengths->asked == 200);
  for (std::uint64_t i = 60; i < epoch.size(); ++i) static_cast<void>(epoch.index_at(i));
  CHECK(lengths->asked == 500);  // blocks 3 to 6, and, ahead, the first one of the next epoch
  static_cast<void>(order.sample_id_at(3, 0));
  CHECK(lengths->asked == 500);
  static_cast<void>(order.sample_id_at(1'000'000, 200));
  CHECK(lengths->asked == 600);
}

TEST_CASE("a packed order takes little memory beside its lengths", "[packed][statistics]") {
  const auto lengths = std::make_shared<CountedLengths>(10'000'000);
  OrderOptions options = packed_options(Lengths(1), {"tokens", budget_8k});
  options.samples_per_epoch = lengths->size();
  options.lengths = lengths;
  const auto in_use = [] { return mallinfo2().uordblks + mallinfo2().hblkhd; };
  const std::size_t before = in_use();
  const Order order(options);
  static_cast<void>(order.sample_id_at(0, 9'999'999));
  CHECK(in_use() - before < 10'000'000 / 10);  // goal: 5 bytes a sample, of which lengths have 4
  CHECK(lengths->asked < 4096 + 1);
}

TEST_CASE("batches of a packed order are full at its budget", "[packed][statistics]") {
  struct Case {
    const char* name;
    Draw draw;
    double least;  ///< what a trainer gets of the packed order
  };
  // Where less than 0.98 is asked for, no arrangement of those samples has more.
  const std::vector<Case> cases = {
      {"texts", lognormal(400, 1, 4096), 0.99},
      {"texts, wider", lognormal(400, 1.5, 4096), 0.99},
      {"texts, narrower", lognormal(400, 0.5, 4096), 0.99},
      {"long texts", lognormal(3000, 1, 8192), 0.99},
      {"any length", uniform(1, 8192), 0.98},
      {"up to a half", uniform(1, 4096), 0.99},
      {"around a half", uniform(2000, 6000), 0.98},
      {"three to eight fit", uniform(1000, 3000), 0.96},
      {"two kinds", either(90, always(100), always(4000)), 0.98},
      {"two kinds of which the long ones are alone", either(50, always(100), always(5000)), 0.62},
      {"all equal", always(400), 0.976},
      {"all equal to the budget", always(8192), 1},
      {"all short", always(7), 0.99},
      {"some without rows", either(30, always(0), lognormal(400, 1, 4096)), 0.98},
      {"some beyond the budget", either(2, uniform(8193, 20'000), lognormal(400, 1, 8192)), 0.98},
      {"multiples", either(50, always(64), either(50, always(640), always(1920))), 0.98}};
  for (const Case& one : cases) {
    INFO(one.name);
    const Lengths lengths = drawn(40 * 4096 + 700, one.draw);
    OrderOptions options = packed_options(lengths, {"tokens", budget_8k});
    const Cuts packed = cut(epoch_of(options), lengths, budget_8k);
    CHECK(packed.fill(budget_8k) >= one.least);
    CHECK(packed.oversized ==
          static_cast<std::uint64_t>(std::count_if(
              lengths.begin(), lengths.end(), [](auto length) { return length > budget_8k; })));
    options.mode = OrderMode::reshuffle;
    CHECK(packed.fill(budget_8k) + 0.001 >=
          cut(epoch_of(options), lengths, budget_8k).fill(budget_8k));
  }
}

TEST_CASE("a trainer has no more batches than there are bins, wherever it begins", "[packed]") {
  const auto seed = std::random_device()();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 300; ++round) {
    const std::uint64_t budget = 1 + random() % 200;
    const std::size_t samples = 1 + random() % 500;
    std::vector<std::uint64_t> rows(samples);
    const std::uint64_t longest = random() % (budget + 20);
    for (std::uint64_t& length : rows) length = random() % 5 == 0 ? 0 : random() % (longest + 1);
    std::vector<std::uint16_t> order(samples);
    detail::BlockArranger arranger(budget, samples);
    arranger.arrange(rows, random(), order);
    const std::size_t begin = random() % samples;
    Lengths lengths(rows.begin(), rows.end());
    const Cuts cuts =
        cut({order.begin() + static_cast<std::ptrdiff_t>(begin), order.end()}, lengths, budget);
    REQUIRE(cuts.batches + cuts.oversized <= arranger.bins_from(begin));
    // As few as rows need, or as best fit needs: at most 11/9 of the least, and one.
    if (begin == 0) {
      std::uint64_t total = 0;
      for (const std::uint64_t length : rows) total += length <= budget ? length : 0;
      CHECK(arranger.bins_from(0) - cuts.oversized <= 2 * (total / budget) + 1);
    }
  }
}

TEST_CASE("other budgets than the order's do well, too", "[packed][statistics]") {
  const Lengths lengths = drawn(20 * 4096, lognormal(400, 1, 4096));
  const auto ids = epoch_of(packed_options(lengths, {"tokens", budget_8k}));
  CHECK(cut(ids, lengths, 2 * budget_8k).fill(2 * budget_8k) > 0.99);  // two bins
  // Where a block has few bins, the order is as good as a shuffle: a trainer cuts beyond bins.
  OrderOptions few = packed_options(lengths, {"tokens", 131'072, 1024});
  const Cuts packed = cut(epoch_of(few), lengths, 131'072);
  few.mode = OrderMode::reshuffle;
  CHECK(packed.batches <= cut(epoch_of(few), lengths, 131'072).batches + 1);
}

TEST_CASE("a predicted fill is what a trainer gets", "[packed]") {
  const auto seed = std::random_device()();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 200; ++round) {
    const Lengths lengths = drawn(1 + random() % 200, uniform(0, 30), random());
    const std::uint64_t budget = 1 + random() % 60;
    std::vector<std::uint64_t> ids(lengths.size());
    detail::BudgetFill predicted(budget);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      ids[i] = i;
      predicted.add(lengths[i]);
    }
    // It leaves out what has no rows, and what is left at the end.
    Cuts cuts = cut(ids, lengths, budget);
    cuts.batches = std::min(cuts.batches, predicted.batches());
    REQUIRE(predicted.batches() == cuts.batches);
    REQUIRE(predicted.fill() * static_cast<double>(budget * cuts.batches) <=
            static_cast<double>(cuts.rows) + 1e-6);
  }
  detail::BudgetFill fill(10);
  for (const std::uint64_t rows : {4U, 5U, 3U, 20U, 7U, 3U, 0U, 1U}) fill.add(rows);
  CHECK(fill.batches() == 3);  // 4 + 5, 3, 7 + 3
  CHECK(fill.fill() == 22.0 / 30);
}

TEST_CASE("samples without rows make no batch by themselves", "[packed]") {
  // Every bin is exact, so what follows its last row would begin another batch.
  const Lengths lengths = drawn(4000, either(50, always(0), always(10)));
  const auto ids = epoch_of(packed_options(lengths, {"tokens", 10, 100}));
  const auto with_rows = static_cast<std::uint64_t>(
      std::count_if(lengths.begin(), lengths.end(), [](auto length) { return length != 0; }));
  CHECK(cut(ids, lengths, 10).batches == with_rows);
  CHECK(listed(Order(packed_options(Lengths(50), {"tokens", 10, 20})).epoch(0)).size() == 50);
}

TEST_CASE("packed epochs and seeds differ", "[packed]") {
  const Lengths lengths = drawn(3000, uniform(1, 300));
  const PackedOptions packed{"tokens", 1000, 512};
  const auto same_places = [](const auto& a, const auto& b) {
    int same = 0;
    for (std::size_t i = 0; i < a.size(); ++i) same += a[i] == b[i] ? 1 : 0;
    return same;
  };
  const auto first = epoch_of(packed_options(lengths, packed, 0), 0);
  CHECK(epoch_of(packed_options(lengths, packed, 0), 0) == first);
  CHECK(same_places(first, epoch_of(packed_options(lengths, packed, 0), 1)) < 20);
  CHECK(same_places(first, epoch_of(packed_options(lengths, packed, 1), 0)) < 20);
  // Within a bin, and among bins, the order does not follow the lengths.
  std::uint64_t falls = 0;
  for (std::size_t i = 1; i < first.size(); ++i) falls += lengths[first[i]] < lengths[first[i - 1]];
  CHECK(falls > 1200);
  CHECK(falls < 1800);
}

TEST_CASE("shards of a packed order are runs of it", "[packed]") {
  for (const std::uint64_t count : {1U, 2U, 3U, 7U, 100U}) {
    OrderOptions options = packed_options(drawn(1003, uniform(0, 30)), {"tokens", 100, 50}, 5);
    const auto all = epoch_of(options, 2);
    std::vector<std::uint64_t> shared;
    for (std::uint64_t i = 0; i < count; ++i) {
      options.shard = {i, count};
      const EpochOrder share = Order(options).epoch(2);
      REQUIRE(share.size() == 1003 / count);
      for (std::uint64_t at = 0; at < share.size(); ++at) {
        shared.push_back(share.index_at(at));
        REQUIRE(share.offset_of(shared.back()) == at);
      }
    }
    REQUIRE(std::equal(shared.begin(), shared.end(), all.begin()));
  }
}

TEST_CASE("the packed order is pinned: another value here changes streams", "[packed]") {
  const auto order_of = [](std::size_t samples, const PackedOptions& packed) {
    Lengths lengths(samples);
    for (std::size_t i = 0; i < samples; ++i) lengths[i] = some_length(i);
    return Order(packed_options(std::move(lengths), packed, 42));
  };
  CHECK(listed(order_of(12, {"tokens", 64, 6}).epoch(1)) ==
        std::vector<std::uint64_t>{5, 2, 9, 1, 10, 3, 4, 6, 7, 8, 0, 11});
  std::uint64_t hash = 0;
  for (const std::uint64_t id : listed(order_of(20'000, {"tokens", 500, 4096}).epoch(0))) {
    hash = detail::mix64(hash ^ id);
  }
  CHECK(hash == 0xfd9cde9114915921);
  hash = 0;
  for (const std::uint64_t id : listed(order_of(3'000, {"tokens", 45, 1000}).epoch(0))) {
    hash = detail::mix64(hash ^ id);
  }
  CHECK(hash == 0xa7d4cd76558bddaf);
}

TEST_CASE("a packed order that cannot be is refused, with a text that says why", "[packed]") {
  const auto text_of = [](const OrderOptions& options) -> std::string {
    try {
      static_cast<void>(Order(options));
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return {};
  };
  const auto with = [&](const PackedOptions& packed) {
    return text_of(packed_options(Lengths(10, 3), packed));
  };
  CHECK(with({"tokens", 1, 2}).empty());
  CHECK_THAT(with({"tokens", 0}), Catch::Contains("needs a budget between 1 and"));
  CHECK_THAT(with({"tokens", PackedOptions::budget_max + 1}), Catch::Contains("has 4294967297"));
  CHECK_THAT(with({"tokens", 5, 1}), Catch::Contains("among = 1."));
  CHECK_THAT(with({"tokens", 5, 65'537}), Catch::Contains("between 2 and 65536"));
  OrderOptions options = packed_options(Lengths(10, 3), {"tokens", 5});
  options.lengths = std::make_shared<StoredLengths>(Lengths(9));
  CHECK_THAT(text_of(options), Catch::Contains("lengths of 9 samples, of a dataset of 10"));
  options.lengths = nullptr;
  CHECK_THAT(text_of(options), Catch::Contains("needs the length of every sample"));
  // As of makers that say no lengths.
  const std::string no_budget = text_of({.samples_per_epoch = 5, .mode = OrderMode::packed});
  CHECK_THAT(no_budget, Catch::Contains("Take `reshuffle`"));
}

TEST_CASE("a space index finds what a sorted set finds", "[packed]") {
  const auto seed = std::random_device()();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  for (const std::uint64_t space_max : {1U, 63U, 64U, 4096U, 100'000U, 262'143U}) {
    constexpr std::uint32_t bins = 300;
    detail::SpaceIndex index(space_max, bins);
    std::multiset<std::uint64_t> model;
    std::vector<std::uint64_t> spaces(bins);
    std::vector<std::uint32_t> out(bins);
    for (std::uint32_t bin = 0; bin < bins; ++bin) out[bin] = bin;
    const auto taken = [&](std::uint32_t bin) {
      model.erase(model.find(spaces[bin]));
      out.push_back(bin);
    };
    for (int step = 0; step < 20'000; ++step) {
      if (!out.empty() && random() % 2 == 0) {
        std::swap(out[random() % out.size()], out.back());
        spaces[out.back()] = random() % (space_max + 1);
        model.insert(spaces[out.back()]);
        index.put(out.back(), spaces[out.back()]);
        out.pop_back();
        continue;
      }
      const bool largest = random() % 2 == 0;
      const std::uint64_t rows = random() % (space_max + 2);
      const auto expected = largest ? (model.empty() ? model.end() : std::prev(model.end()))
                                    : model.lower_bound(rows);
      const std::uint32_t bin = largest ? index.take_largest() : index.take_at_least(rows);
      REQUIRE((bin == detail::SpaceIndex::none) == (expected == model.end()));
      if (bin == detail::SpaceIndex::none) continue;
      REQUIRE(spaces[bin] == *expected);
      taken(bin);
    }
    index.clear();
    REQUIRE(index.take_largest() == detail::SpaceIndex::none);
  }
  // Of more spaces than it has places, it finds one that is large enough.
  detail::SpaceIndex coarse(std::uint64_t{1} << 32, 4);
  coarse.put(0, (std::uint64_t{1} << 31) + 5);
  CHECK(coarse.take_at_least((std::uint64_t{1} << 31) + 6) == detail::SpaceIndex::none);
  CHECK(coarse.take_at_least(std::uint64_t{1} << 31) == 0);
}
