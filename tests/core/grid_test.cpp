// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/grid.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "catch.hpp"

using namespace batchcast;

namespace {

/// A job's grids, one for each node: `columns` ranks each.
std::vector<Grid> grids_of(std::uint64_t samples, const std::vector<std::uint64_t>& columns,
                           std::uint64_t cursor = 0) {
  const std::uint64_t ranks = std::accumulate(columns.begin(), columns.end(), std::uint64_t{0});
  std::vector<Grid> grids;
  std::uint64_t first = 0;
  for (const std::uint64_t own : columns) {
    const Grid grid{.samples = samples, .ranks = ranks, .first = first, .own = own};
    grids.push_back(grid.position_of(cursor) ? grid : grid.beginning_at(cursor));
    first += own;
  }
  return grids;
}

/// The offsets that all nodes have of an epoch, from that many samples of each rank on, sorted.
std::vector<std::uint64_t> offsets_of(const std::vector<Grid>& grids, std::uint64_t epoch,
                                      std::uint64_t from_row = 0) {
  std::vector<std::uint64_t> offsets;
  for (const Grid& grid : grids) {
    for (std::uint64_t i = from_row * grid.own; i < grid.samples_per_epoch(); ++i) {
      const std::uint64_t offset = grid.offset_at(epoch, i);
      CHECK(grid.index_of(epoch, offset) == i);
      offsets.push_back(offset);
    }
  }
  std::sort(offsets.begin(), offsets.end());
  return offsets;
}

std::vector<std::uint64_t> numbers(std::uint64_t from, std::uint64_t to) {
  std::vector<std::uint64_t> all(to - from);
  std::iota(all.begin(), all.end(), from);
  return all;
}

}  // namespace

TEST_CASE("the ranks of a job on several nodes get the samples of each row, in any division") {
  // Four ranks on three nodes, and eleven samples: the last three are in no row.
  const std::vector<Grid> grids = grids_of(11, {2, 1, 1});
  CHECK(grids[0].samples_per_epoch() == 4);
  CHECK(grids[1].samples_per_epoch() == 2);
  CHECK(grids[0].offset_at(5, 0) == 0);
  CHECK(grids[0].offset_at(5, 1) == 1);
  CHECK(grids[0].offset_at(5, 2) == 4);
  CHECK(grids[1].offset_at(5, 1) == 6);
  CHECK(grids[2].offset_at(5, 1) == 7);
  CHECK_FALSE(grids[2].index_of(5, 6));
  CHECK_FALSE(grids[0].index_of(5, 8));
  CHECK(offsets_of(grids, 5) == numbers(0, 8));
}

TEST_CASE("a cursor means the same to all nodes, and an epoch begins for all at the same one") {
  const std::vector<Grid> grids = grids_of(11, {2, 1, 1});
  for (const Grid& grid : grids) {
    CHECK(grid.cursor_of(0) == 0);
    CHECK(grid.cursor_of(grid.own) == 4);
    CHECK(grid.cursor_of(2 * grid.own) == 11);
    CHECK(grid.cursor_of(7 * grid.own) == 3 * 11 + 4);
    CHECK(grid.position_of(3 * 11 + 4) == 7 * grid.own);
    CHECK(grid.position_of(8) == 2 * grid.own);  // no row is left
    CHECK_FALSE(grid.position_of(3));
    CHECK_FALSE(grid.position_of(11 + 2));
  }
  const Grid whole = Grid::whole(11);
  CHECK(whole.is_whole());
  CHECK_FALSE(grids[0].is_whole());
  CHECK(whole.cursor_of(37) == 37);
  CHECK(whole.position_of(37) == 37);
}

TEST_CASE("where a job with other ranks goes on, its first row says where it began") {
  // Behind one sample of eleven two rows of five fit, behind four one only.
  const Grid five{.samples = 11, .ranks = 5, .first = 2, .own = 2};
  const Grid behind = five.beginning_at(11 + 6);
  CHECK(behind.shift == 1);
  CHECK(behind.epoch == 1);
  CHECK(behind.position_of(11 + 6) == 4 + 2);
  CHECK(behind.cursor_of(4 + 2) == 11 + 6);
  CHECK(behind.cursor_of(4) == 11 + 1);
  CHECK(behind.position_of(11) == 4);
  CHECK_FALSE(behind.position_of(11 + 2));
  CHECK(behind.offset_at(1, 0) == 3);
  CHECK(behind.offset_at(0, 0) == 2);
  const Grid early = five.beginning_at(11 + 4);
  CHECK(early.shift == -1);
  CHECK(early.position_of(11 + 4) == 4 + 2);
  CHECK(early.offset_at(1, 2) == 6);
  CHECK(early.offset_at(1, 0) == 1);
  CHECK(early.cursor_of(4) == 11);
  // Fewer samples than ranks are left: the next epoch begins.
  CHECK(early.position_of(11 + 9) == 8);
  CHECK(five.position_of(11 + 10) == 8);
  CHECK(five.beginning_at(11 + 5) == five);
}

TEST_CASE("a job of another size goes on at any cursor with exactly the samples that are left") {
  const std::uint64_t seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 3000; ++round) {
    const std::uint64_t samples = 1 + random() % 60;
    std::vector<std::uint64_t> columns;
    std::uint64_t ranks = 0;
    do {
      columns.push_back(1 + random() % 3);
      ranks += columns.back();
    } while (random() % 3 != 0);
    if (ranks > samples) continue;
    const std::uint64_t epoch = random() % 4;
    const std::uint64_t offset = random() % samples;
    const std::uint64_t cursor = epoch * samples + offset;
    const std::vector<Grid> grids = grids_of(samples, columns, cursor);
    CAPTURE(samples, ranks, cursor);
    std::uint64_t row = 0;
    for (const Grid& grid : grids) {
      REQUIRE(grid.is_sound());
      REQUIRE(Grid::from_json(grid.to_json()) == grid);
      const auto position = grid.position_of(cursor);
      REQUIRE(position);
      REQUIRE(*position % grid.own == 0);
      row = *position / grid.own - epoch * grid.rows();
      const bool is_left = row < grid.rows();
      REQUIRE(grid.cursor_of(*position) == (is_left ? cursor : (epoch + 1) * samples));
    }
    // From there on nothing is left out but what fills no row, and each other epoch is as ever.
    const std::uint64_t left = (samples - offset) / ranks * ranks;
    REQUIRE(offsets_of(grids, epoch, row) == numbers(offset, offset + left));
    REQUIRE(offsets_of(grids, epoch + 1) == numbers(0, samples / ranks * ranks));
    // An epoch with other rows has as many samples, each once: another trainer may begin it.
    const std::vector<std::uint64_t> all = offsets_of(grids, epoch);
    REQUIRE(all.size() == samples / ranks * ranks);
    REQUIRE(std::adjacent_find(all.begin(), all.end()) == all.end());
  }
}

TEST_CASE("what is no grid is not taken for one") {
  const Grid grid{.samples = 11, .ranks = 4, .first = 2, .own = 2, .epoch = 3, .shift = -1};
  const std::string json = grid.to_json();
  CHECK(Grid::from_json(json) == grid);
  CHECK(Grid::in_recipe(R"({"a":1,"grid":)" + json + R"(,"seed":0})") == grid);
  CHECK_FALSE(Grid::in_recipe(R"({"a":1,"seed":0})"));
  CHECK_FALSE(Grid::in_recipe(R"({"grid":7})"));
  for (const Grid& wrong :
       {Grid{.samples = 0}, Grid{.samples = 3, .ranks = 4}, Grid{.samples = 9, .ranks = 0},
        Grid{.samples = 9, .ranks = 4, .first = 3, .own = 2}, Grid{.samples = 9, .own = 0},
        Grid{.samples = 9, .ranks = 3, .epoch = 1, .shift = 3},
        Grid{.samples = 9, .ranks = 3, .epoch = 1, .shift = -3}}) {
    CHECK_FALSE(wrong.is_sound());
    CHECK_FALSE(Grid::from_json(wrong.to_json()));
  }
  CHECK_FALSE(Grid::from_json(R"({"columns":2,"epoch":3,"first":2,"ranks":4,"samples":11})"));
  CHECK_FALSE(
      Grid::from_json(R"({"columns":2,"epoch":3,"first":-2,"ranks":4,"samples":11,"shift":1})"));
}
