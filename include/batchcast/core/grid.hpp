// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/assert.hpp>
#include <batchcast/core/json_member.hpp>
#include <batchcast/core/text.hpp>

#include <algorithm>
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
/// In one epoch the rows may begin at another offset of the order. So a cursor of a job that had
/// other ranks begins a row there. Up to `ranks` - 1 samples at the end of an epoch's order are
/// in no row. A value; pure.
struct Grid {
  std::uint64_t samples = 0;  ///< of an epoch's order
  std::uint64_t ranks = 1;    ///< of the job: at most `samples`
  std::uint64_t first = 0;    ///< the node's first column
  std::uint64_t own = 1;      ///< its columns
  std::uint64_t epoch = 0;    ///< in which the first row begins elsewhere than at offset 0:
  /// behind that many samples or, below 0, with that many from the end of the order. Less than
  /// `ranks`.
  std::int64_t shift = 0;

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
    return (place + begin_in(in_epoch)) % samples;
  }
  /// The inverse; nothing where the node does not have that sample.
  [[nodiscard]] std::optional<std::uint64_t> index_of(std::uint64_t in_epoch,
                                                      std::uint64_t offset) const noexcept {
    const std::uint64_t place = (offset + samples - begin_in(in_epoch)) % samples;
    const std::uint64_t column = place % ranks;
    if (place / ranks >= rows() || column < first || column - first >= own) return std::nullopt;
    return place / ranks * own + (column - first);
  }

  /// The cursor of a position at which a row begins, as a batch of the node's ranks does.
  [[nodiscard]] std::uint64_t cursor_of(std::uint64_t position) const noexcept {
    const std::uint64_t in_epoch = position / samples_per_epoch();
    const std::uint64_t place = position % samples_per_epoch() / own * ranks;
    // What a first row has from the end of the order is behind all cursors of the epoch.
    const bool is_early = place == 0 && shift_in(in_epoch) < 0;
    return in_epoch * samples + (is_early ? 0 : (place + begin_in(in_epoch)) % samples);
  }
  /// The position of a cursor; nothing where no row begins there. Where no whole row is left, it is
  /// the next epoch's.
  [[nodiscard]] std::optional<std::uint64_t> position_of(std::uint64_t cursor) const noexcept {
    const std::uint64_t in_epoch = cursor / samples;
    const std::uint64_t offset = cursor % samples;
    if (offset == 0) return in_epoch * samples_per_epoch();
    const std::int64_t begin = shift_in(in_epoch);
    if (begin > 0 && offset < static_cast<std::uint64_t>(begin)) return std::nullopt;
    const std::uint64_t place = offset - static_cast<std::uint64_t>(begin);  // modulo 2^64
    if (place / ranks >= rows()) return (in_epoch + 1) * samples_per_epoch();
    if (place % ranks != 0) return std::nullopt;
    return in_epoch * samples_per_epoch() + place / ranks * own;
  }
  /// The same columns, with rows that begin at the cursor. All samples of that epoch from there on
  /// are in rows, but for up to `ranks` - 1 at the end.
  [[nodiscard]] Grid beginning_at(std::uint64_t cursor) const noexcept {
    Grid grid = *this;
    const std::uint64_t beyond = cursor % samples % ranks;
    // An epoch keeps its number of rows. Where they do not fit behind these samples, the first row
    // begins before offset 0.
    const bool fit = beyond <= samples % ranks;
    grid.shift = static_cast<std::int64_t>(beyond) - (fit ? 0 : static_cast<std::int64_t>(ranks));
    grid.epoch = grid.shift == 0 ? 0 : cursor / samples;
    return grid;
  }

  /// As a member of a recipe's JSON has it.
  [[nodiscard]] std::string to_json() const {
    return text(R"({"columns":{},"epoch":{},"first":{},"ranks":{},"samples":{},"shift":{}})", own,
                epoch, first, ranks, samples, shift);
  }
  /// Nothing for a text that is no grid.
  [[nodiscard]] static std::optional<Grid> from_json(std::string_view json) noexcept {
    Grid grid;
    const bool has_all = read(json, "samples", grid.samples) && read(json, "ranks", grid.ranks) &&
                         read(json, "first", grid.first) && read(json, "columns", grid.own) &&
                         read(json, "epoch", grid.epoch) && read(json, "shift", grid.shift);
    return has_all && grid.is_sound() ? std::optional(grid) : std::nullopt;
  }
  /// Of the recipe of a stream; nothing where it is not laid out by a grid.
  [[nodiscard]] static std::optional<Grid> in_recipe(std::string_view recipe_json) noexcept {
    const auto member = detail::json_member(recipe_json, "grid");
    if (!member) return std::nullopt;
    return from_json(recipe_json.substr(member->value, member->end - member->value));
  }

  [[nodiscard]] bool is_sound() const noexcept {
    constexpr std::uint64_t ranks_max = std::uint64_t{1} << 24;
    const auto limit = static_cast<std::int64_t>(std::min(ranks, ranks_max));
    return samples != 0 && samples < std::uint64_t{1} << 48 && ranks != 0 && ranks <= ranks_max &&
           ranks <= samples && own != 0 && first < ranks && own <= ranks - first &&
           shift > -limit && shift < limit;
  }

  friend bool operator==(const Grid&, const Grid&) = default;

 private:
  template <class Number>
  [[nodiscard]] static bool read(std::string_view json, std::string_view key,
                                 Number& number) noexcept {
    const auto member = detail::json_member(json, key);
    if (!member) return false;
    const char* const end = json.data() + member->end;
    const auto done = std::from_chars(json.data() + member->value, end, number);
    return done.ec == std::errc() && done.ptr == end;
  }

  [[nodiscard]] std::int64_t shift_in(std::uint64_t in_epoch) const noexcept {
    return in_epoch == epoch ? shift : 0;
  }
  /// The offset at which the first row begins; below `samples`.
  [[nodiscard]] std::uint64_t begin_in(std::uint64_t in_epoch) const noexcept {
    const std::int64_t begin = shift_in(in_epoch);
    return begin < 0 ? samples + static_cast<std::uint64_t>(begin)
                     : static_cast<std::uint64_t>(begin);
  }
};

namespace detail {

/// What a trainer saves for a position; the position itself where there is no grid.
[[nodiscard]] inline std::uint64_t cursor_in(const std::optional<Grid>& grid,
                                             std::uint64_t position) noexcept {
  return grid ? grid->cursor_of(position) : position;
}

}  // namespace detail

}  // namespace batchcast::inline v0_1
