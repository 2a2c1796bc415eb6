// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "observe/grid.hpp"
#include "observe/overview.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// The screen of `top`: what it shows is a function of what was seen, what the user chose, and the
// size. No terminal is needed.
namespace batchcast::inline v0_1::observe {

/// What can be selected: a stream, or a trainer of it.
struct Entry {
  std::size_t stream = 0;
  std::string trainer = {};  ///< empty: the stream itself
};

/// What the user does at the moment.
enum class Mode : std::uint8_t { list, search, filter, details, help, asks };

/// What the user chose.
struct Choices {
  SortKey sort = SortKey::name;
  bool reversed = false;
  std::string filter = {};  ///< of trainers' names
  std::string search = {};
  Mode mode = Mode::list;
  bool frozen = false;
  std::size_t selected = 0;  ///< of the entries
  // What `follow_selected` found there last.
  std::size_t followed_at = 0;
  std::string followed_stream = {};
  std::string followed_trainer = {};
  std::size_t top = 0;    ///< the first line of the list that is on the screen
  std::string note = {};  ///< how the last order ended
  // While it asks.
  std::string question = {};
  Entry asked = {};
  std::string asked_stream = {};
};

[[nodiscard]] std::vector<Entry> entries_of(const Overview& overview, const Choices& choices);

/// Brings `choices.selected` to where the stream or trainer that was selected stands now: others
/// may have come or gone, and the order may have changed. A place that a key chose stays.
void follow_selected(const Overview& overview, Choices& choices);

/// Draws the screen. `choices.selected` and `choices.top` are brought to what there is. Any size
/// will do, and any names.
[[nodiscard]] Grid draw(const Overview& overview, Choices& choices, std::size_t width,
                        std::size_t height, bool ascii);

/// Of any width: `[#####    ]`.
[[nodiscard]] std::string bar(double share, std::size_t columns, bool ascii);
/// The newest values as one row of small bars.
[[nodiscard]] std::string spark_line(const std::vector<double>& values, std::size_t columns,
                                     bool ascii);

}  // namespace batchcast::inline v0_1::observe
