// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "../catch.hpp"
#include "rows_model.hpp"

#include <batchcast/ring/row_cut.hpp>

#include <random>
#include <vector>

using namespace batchcast;
using batchcast::testing::rows_model::batches;

namespace {

/// A table on the heap of samples with these lengths, which begin at `first_position`.
class Table {
 public:
  Table(const std::vector<std::uint64_t>& lengths, std::uint64_t first_position,
        std::uint64_t first_row)
      : entries_(lengths.size() + 3) {
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      RowEntry& entry = entries_[(first_position + i) % entries_.size()];
      ordered::set(entry.first, first_row);
      ordered::set(entry.rows, lengths[i]);
      first_row += lengths[i];
    }
  }
  [[nodiscard]] RowTable view() const { return {entries_.data(), entries_.size(), 1U << 30}; }

 private:
  std::vector<RowEntry> entries_;
};

}  // namespace

TEST_CASE("a budget cuts whole samples, as the model says", "[rows][ring]") {
  const auto seed = std::random_device()();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 3'000; ++round) {
    const std::uint64_t budget = 1 + random() % 20;
    const std::uint64_t samples_max = 1 + random() % 12;
    const std::uint64_t world = 1 + random() % 4;
    const auto oversize = std::vector{Oversize::alone, Oversize::drop}[random() % 2];
    std::vector<std::uint64_t> lengths(random() % 40);
    for (std::uint64_t& length : lengths) {
      length = random() % 4 == 0 ? 0 : random() % (random() % 8 == 0 ? 30 : 12);
    }
    const std::uint64_t at = random() % 1'000;
    const Table table(lengths, at, random() % 1'000);
    const auto expected = batches(lengths, budget, samples_max, world, oversize);

    // The samples come one by one, in bursts; the batches must not depend on that.
    RowCut cut(world);
    std::uint64_t position = at;
    std::uint64_t published = at;
    const std::uint64_t end = at + lengths.size();
    for (const auto& batch : expected) {
      for (;;) {
        RowCut::There there{position, published, published == end, {}};
        const bool knows_next = published < end && random() % 2 == 0;
        if (knows_next) there.next_rows = lengths[published - at];
        const auto found = cut.cut(table.view(), {0, budget, oversize}, samples_max, there);
        if (found == RowCut::Found::batch) break;
        REQUIRE(found == RowCut::Found::more);
        REQUIRE(published < end);
        published += 1 + random() % (end - published);
      }
      REQUIRE(cut.runs().size() == world);
      for (std::size_t rank = 0; rank < world; ++rank) {
        REQUIRE(cut.runs()[rank].start - at == batch[rank].start);
        REQUIRE(cut.runs()[rank].size == batch[rank].size);
      }
      position = cut.end();
    }
    const auto rest =
        cut.cut(table.view(), {0, budget, oversize}, samples_max, {position, end, true, {}});
    REQUIRE(rest == RowCut::Found::none);
  }
}

TEST_CASE("a batch is complete once the next sample is known not to fit", "[rows][ring]") {
  const Table table({4, 4, 9}, 0, 0);
  RowCut cut(1);
  const RowBudget budget{0, 10, Oversize::error};
  CHECK(cut.cut(table.view(), budget, 64, {0, 2, false, {}}) == RowCut::Found::more);
  CHECK(cut.cut(table.view(), budget, 64, {0, 2, false, 2}) == RowCut::Found::more);
  REQUIRE(cut.cut(table.view(), budget, 64, {0, 2, false, 3}) == RowCut::Found::batch);
  CHECK(cut.runs().front().size == 2);
  // Exactly full, it waits for nothing.
  REQUIRE(cut.cut(table.view(), {0, 8, Oversize::error}, 64, {0, 2, false, {}}) ==
          RowCut::Found::batch);
}

TEST_CASE("samples without rows after a full batch begin the next one", "[rows][ring]") {
  const Table table({5, 5, 0, 0, 3}, 7, 100);
  RowCut cut(1);
  const RowBudget budget{0, 10, Oversize::error};
  REQUIRE(cut.cut(table.view(), budget, 64, {7, 12, true, {}}) == RowCut::Found::batch);
  CHECK(cut.runs().front().size == 2);
  REQUIRE(cut.cut(table.view(), budget, 64, {9, 12, true, {}}) == RowCut::Found::batch);
  CHECK(cut.runs().front().size == 3);
}

TEST_CASE("a sample beyond the budget is an error, alone, cut short or left out", "[rows][ring]") {
  const Table table({3, 12, 4}, 0, 0);
  RowCut cut(1);
  RowBudget budget{0, 10, Oversize::error};
  REQUIRE(cut.cut(table.view(), budget, 64, {0, 3, true, {}}) == RowCut::Found::batch);
  CHECK(cut.end() == 1);
  CHECK(cut.cut(table.view(), budget, 64, {1, 3, true, {}}) == RowCut::Found::oversized);
  CHECK(cut.at() == 1);
  budget.oversize = Oversize::truncate;
  REQUIRE(cut.cut(table.view(), budget, 64, {1, 3, true, {}}) == RowCut::Found::batch);
  CHECK(cut.runs().front().oversized);
  CHECK(cut.runs().front().size == 1);
  budget.oversize = Oversize::drop;
  REQUIRE(cut.cut(table.view(), budget, 64, {1, 3, true, {}}) == RowCut::Found::batch);
  CHECK(cut.runs().front().start == 2);
  CHECK(cut.dropped() == 1);
  CHECK(cut.cut(table.view(), budget, 64, {1, 2, false, {}}) == RowCut::Found::more);
  CHECK(cut.at() == 2);
}
