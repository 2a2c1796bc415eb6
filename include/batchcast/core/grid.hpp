// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/assert.hpp>
#include <batchcast/core/json_member.hpp>
#include <batchcast/core/text.hpp>

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace batchcast::inline v0_1 {

/// Which samples of each epoch the ranks of one node get, where a job has ranks on several nodes. A
/// row of the grid is as many consecutive samples of the epoch's order as the job has ranks, and
/// each rank has a column. So a batch of the job is the same samples on any number of nodes, and
/// nodes agree without messages. The node's stream is its own columns, row by row: its epochs have
/// `samples_per_epoch` samples, and its positions count these. *Cursors* count the samples of the
/// whole job, and mean the same in every grid.
///
/// In one epoch the rows may begin at another offset of the order, so that a cursor at which the
/// job had other ranks begins a row. Up to `ranks` - 1 samples at the end of an epoch's order are
/// in no row. A value; pure.
struct Grid {
  std::uint64_t samples = 0;  ///< of an epoch's order
  std::uint64_t ranks = 1;    ///< of the job: at most `samples`
  std::uint64_t first = 0;    ///< the node's first column
  std::uint64_t own = 1;      ///< its columns
  std::uint64_t epoch = 0;    ///< in which the first row begins at the offset `turn`
  std::uint64_t turn = 0;     ///< below `samples`; rows go on at offset 0 after the last sample

  /// The samples of one node that has them all.
  [[nodiscard]] static Grid whole(std::uint64_t samples) noexcept { return {.samples = samples}; }
  [[nodiscard]] bool is_whole() const noexcept { return ranks == own && ranks == 1; }

  [[nodiscard]] std::uint64_t rows() const noexcept { return samples / ranks; }
  [[nodiscard]] std::uint64_t samples_per_epoch() const noexcept { return rows() * own; }
  [[nodiscard]] bool has_same_columns(const Grid& other) const noexcept {
    return samples == other.samples && ranks == other.ranks && first == other.first &&
           own == other.own;
  }

  /// The offset in the epoch's order of the node's sample at `index`, which is below
  /// samples_per_epoch().
  [[nodiscard]] std::uint64_t offset_at(std::uint64_t in_epoch,
                                        std::uint64_t index) const noexcept {
    BATCHCAST_ASSERT(index < samples_per_epoch());
    const std::uint64_t place = index / own * ranks + first + index % own;
    return (place + turn_in(in_epoch)) % samples;
  }
  /// The inverse; nothing where the node does not have that sample.
  [[nodiscard]] std::optional<std::uint64_t> index_of(std::uint64_t in_epoch,
                                                      std::uint64_t offset) const noexcept {
    const std::uint64_t place = place_of(in_epoch, offset);
    const std::uint64_t column = place % ranks;
    if (place / ranks >= rows() || column < first || column - first >= own) return std::nullopt;
    return place / ranks * own + (column - first);
  }

  /// The cursor of a position at which a row begins, as a batch of the node's ranks does.
  [[nodiscard]] std::uint64_t cursor_of(std::uint64_t position) const noexcept {
    const std::uint64_t in_epoch = position / samples_per_epoch();
    const std::uint64_t row = position % samples_per_epoch() / own;
    // An epoch begins for all at the same cursor, also where its rows are turned.
    const std::uint64_t offset = row == 0 ? 0 : (row * ranks + turn_in(in_epoch)) % samples;
    return in_epoch * samples + offset;
  }
  /// The position of a cursor; nothing where no row begins there.
  [[nodiscard]] std::optional<std::uint64_t> position_of(std::uint64_t cursor) const noexcept {
    const std::uint64_t in_epoch = cursor / samples;
    const std::uint64_t offset = cursor % samples;
    const std::uint64_t place = offset == 0 ? 0 : place_of(in_epoch, offset);
    if (place % ranks != 0 || place / ranks > rows()) return std::nullopt;
    return in_epoch * samples_per_epoch() + place / ranks * own;
  }
  /// The same columns, with rows that begin at the cursor. All samples of that epoch from there on
  /// are in rows, but for up to `ranks` - 1 at the end.
  [[nodiscard]] Grid beginning_at(std::uint64_t cursor) const noexcept {
    Grid grid = *this;
    grid.epoch = cursor / samples;
    const std::uint64_t beyond = cursor % samples % ranks;
    // Whole rows are left of the epoch's end. Where they do not fit behind these samples, the first
    // row begins before offset 0: it is turned to the end, and lies before the cursor.
    grid.turn = beyond <= samples % ranks ? beyond : samples - (ranks - beyond);
    if (grid.turn == 0) grid.epoch = 0;
    return grid;
  }

  /// As a member of a recipe's JSON has it.
  [[nodiscard]] std::string to_json() const {
    return text(R"({"columns":{},"epoch":{},"first":{},"ranks":{},"samples":{},"turn":{}})", own,
                epoch, first, ranks, samples, turn);
  }
  /// Nothing for a text that is no grid.
  [[nodiscard]] static std::optional<Grid> from_json(std::string_view json) noexcept {
    const auto number = [json](std::string_view key) -> std::optional<std::uint64_t> {
      const auto member = detail::json_member(json, key);
      std::uint64_t value = 0;
      if (!member) return std::nullopt;
      const char* const end = json.data() + member->end;
      const auto read = std::from_chars(json.data() + member->value, end, value);
      if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
      return value;
    };
    const auto samples = number("samples"), ranks = number("ranks"), first = number("first");
    const auto own = number("columns"), epoch = number("epoch"), turn = number("turn");
    if (!samples || !ranks || !first || !own || !epoch || !turn) return std::nullopt;
    const Grid grid{*samples, *ranks, *first, *own, *epoch, *turn};
    return grid.is_sound() ? std::optional(grid) : std::nullopt;
  }
  /// Of the recipe of a stream; nothing where it is not laid out by a grid.
  [[nodiscard]] static std::optional<Grid> in_recipe(std::string_view recipe_json) noexcept {
    const auto member = detail::json_member(recipe_json, "grid");
    if (!member) return std::nullopt;
    return from_json(recipe_json.substr(member->value, member->end - member->value));
  }

  [[nodiscard]] bool is_sound() const noexcept {
    constexpr std::uint64_t ranks_max = std::uint64_t{1} << 24;
    return samples != 0 && samples < std::uint64_t{1} << 48 && ranks != 0 && ranks <= ranks_max &&
           ranks <= samples && own != 0 && first < ranks && own <= ranks - first && turn < samples;
  }

  friend bool operator==(const Grid&, const Grid&) = default;

 private:
  [[nodiscard]] std::uint64_t turn_in(std::uint64_t in_epoch) const noexcept {
    return in_epoch == epoch ? turn : 0;
  }
  /// Counted from the first row's begin.
  [[nodiscard]] std::uint64_t place_of(std::uint64_t in_epoch,
                                       std::uint64_t offset) const noexcept {
    return (offset + samples - turn_in(in_epoch)) % samples;
  }
};

}  // namespace batchcast::inline v0_1
