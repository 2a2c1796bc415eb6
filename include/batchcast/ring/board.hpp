// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/schema.hpp>
#include <batchcast/ring/capacity.hpp>
#include <batchcast/ring/layout.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace batchcast::inline v0_1 {

/// Finds things in the bytes of a board. It owns nothing, and is safe on a read-only mapping once
/// `check_board` has accepted it.
class BoardView {
 public:
  explicit BoardView(const std::byte* base) noexcept : base_(base) {}

  [[nodiscard]] const BoardHead& head() const noexcept { return at<BoardHead>(0); }
  [[nodiscard]] const BoardProgress& progress() const noexcept {
    return at<BoardProgress>(progress_offset);
  }
  [[nodiscard]] const FieldEntry& field(std::size_t index) const noexcept {
    return at<FieldEntry>(fields_offset + index * sizeof(FieldEntry));
  }
  [[nodiscard]] const EpochEntry& epoch(std::uint64_t epoch) const noexcept {
    return at<EpochEntry>(head().epochs_offset +
                          epoch % limits::epochs_on_board * sizeof(EpochEntry));
  }
  [[nodiscard]] const ConsumerEntry& consumer(std::size_t index) const noexcept {
    return at<ConsumerEntry>(head().consumers_offset + index * sizeof(ConsumerEntry));
  }
  [[nodiscard]] std::size_t axis_count() const noexcept { return head().axis_count; }
  [[nodiscard]] const AxisEntry& axis(std::size_t index) const noexcept {
    return at<AxisEntry>(head().axes_offset + index * sizeof(AxisEntry));
  }
  /// The schema without sample_id. Throws Refused where the entries are not those of a schema.
  [[nodiscard]] Schema schema() const;
  [[nodiscard]] std::string_view recipe_json() const noexcept {
    return {&at<char>(head().recipe_offset), head().recipe_bytes};
  }

 protected:
  template <class T>
  [[nodiscard]] const T& at(std::size_t offset) const noexcept {
    return *reinterpret_cast<const T*>(base_ + offset);
  }

 private:
  const std::byte* base_;
};

/// The producer's view of its board, writable.
class Board : public BoardView {
 public:
  explicit Board(std::byte* base) noexcept : BoardView(base) {}

  [[nodiscard]] BoardHead& head() noexcept { return mine(BoardView::head()); }
  [[nodiscard]] BoardProgress& progress() noexcept { return mine(BoardView::progress()); }
  [[nodiscard]] FieldEntry& field(std::size_t index) noexcept {
    return mine(BoardView::field(index));
  }
  [[nodiscard]] AxisEntry& axis(std::size_t index) noexcept { return mine(BoardView::axis(index)); }
  [[nodiscard]] EpochEntry& epoch(std::uint64_t epoch) noexcept {
    return mine(BoardView::epoch(epoch));
  }
  [[nodiscard]] ConsumerEntry& consumer(std::size_t index) noexcept {
    return mine(BoardView::consumer(index));
  }

 private:
  template <class T>
  [[nodiscard]] static T& mine(const T& shared) noexcept {
    return const_cast<T&>(shared);  // the constructor took it writable
  }
};

/// An axis on a board.
struct AxisSpec {
  std::string name;
  std::uint64_t rows = 0;
  std::uint64_t table_capacity = 0;
  std::uint64_t table_bytes = 0;
};

/// What a board is made from.
struct BoardSpec {
  std::string_view recipe_json;
  std::string_view identity;            ///< of the recipe, 32 hexadecimal digits; empty: none
  std::span<const FieldEntry> fields;   ///< sample_id last
  std::span<const AxisSpec> axes = {};  ///< as `axes_of` counts them
  std::uint64_t capacity = 0;
  std::uint64_t samples_per_epoch = 0;
  std::uint64_t epochs = 0;
  std::uint32_t consumers_max = limits::consumers_default;
  bool pure = false;
  std::uint64_t first_position = 0;
};

/// A field's entry on the board, for a field that lies as planned. `axis`: its number, or -1.
[[nodiscard]] FieldEntry field_entry(const FieldSpec& spec, const FieldPlan& plan, int axis = -1);

/// Bytes that a board of this spec takes.
[[nodiscard]] std::uint64_t board_bytes_for(const BoardSpec& spec);

/// Writes a fresh board, with a random incarnation, into zeroed memory of that size.
void format_board(std::span<std::byte> memory, const BoardSpec& spec);

/// Throws Refused, saying what is wrong, unless these are the bytes of a board of our layout
/// version. Every offset has to stay inside them, and the fields have to be possible ones.
void check_board(std::span<const std::byte> memory);

}  // namespace batchcast::inline v0_1
