// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/error.hpp>

#include <batchcast/core/inline.hpp>
#include <batchcast/ring/board.hpp>

#include <algorithm>
#include <string>
#include <vector>

// Checks what a consumer reads from a board before it trusts the board.
namespace batchcast::inline v0_1 {
namespace detail::board_check {

[[noreturn]] inline void refuse(const std::string& what) {
  throw Refused(
      text("batchcast: the producer's board cannot be read: {}. Producer and consumer must be "
           "built from versions of batchcast with the same layout.",
           what));
}

inline bool inside(std::uint64_t offset, std::uint64_t bytes, std::uint64_t total) noexcept {
  return offset <= total && bytes <= total - offset;
}

inline FieldSpec spec_of(const FieldEntry& entry, std::size_t index) {
  const auto name_end = std::find(entry.name.begin(), entry.name.end(), '\0');
  const bool zeros = std::all_of(name_end, entry.name.end(), [](char c) { return c == '\0'; });
  const bool sound = entry.dtype < dtype_names.size() && entry.rank <= entry.shape.size() &&
                     name_end != entry.name.begin() && name_end != entry.name.end() && zeros;
  if (!sound) refuse(text("field {} has no name, dtype or shape that can be", index));
  const auto shape_end = entry.shape.begin() + entry.rank;
  if (std::any_of(shape_end, entry.shape.end(), [](std::int64_t extent) { return extent != 0; })) {
    refuse(text("field {} has extents after its last dimension", index));
  }
  return {{entry.name.begin(), name_end},
          static_cast<DType>(entry.dtype),
          {entry.shape.begin(), shape_end}};
}

inline std::string name_of(const AxisEntry& entry, std::size_t index) {
  const auto end = std::find(entry.name.begin(), entry.name.end(), '\0');
  const bool zeros = std::all_of(end, entry.name.end(), [](char c) { return c == '\0'; });
  if (end == entry.name.begin() || end == entry.name.end() || !zeros) {
    refuse(text("axis {} has no name that can be", index));
  }
  return {entry.name.begin(), end};
}

/// Each field's axis, by its name.
inline void put_axes(const BoardView& board, Schema& schema) {
  for (std::size_t i = 0; i < schema.size(); ++i) {
    const std::uint64_t axis = board.field(i).axis;
    if (axis == 0) continue;
    if (axis > board.axis_count() || i + 1 == schema.size()) {
      refuse(text("field {} lies on no axis that can be", i));
    }
    schema[i].axis = name_of(board.axis(axis - 1), axis - 1);
  }
}

inline void check_axes(const BoardView& board, const Schema& schema) {
  const std::vector<std::string> axes = axes_of(schema);
  const std::uint64_t capacity = board.head().capacity;
  bool sound = axes.size() == board.axis_count();
  for (std::size_t i = 0; sound && i < axes.size(); ++i) {
    const AxisEntry& axis = board.axis(i);
    sound = name_of(axis, i) == axes[i] && axis.rows > 0 && axis.rows < limits::position_max &&
            axis.table_capacity >= capacity &&
            axis.table_capacity <= axis.table_bytes / sizeof(RowEntry);
  }
  if (!sound) refuse("its axes and fields contradict each other");
}

}  // namespace detail::board_check

BATCHCAST_INLINE Schema BoardView::schema() const {
  Schema schema;
  const std::size_t count = std::min<std::size_t>(head().field_count, limits::fields_max);
  for (std::size_t i = 0; i < count; ++i) {
    const FieldEntry entry = field(i);  // its writer may still change it
    schema.push_back(detail::board_check::spec_of(entry, i));
  }
  detail::board_check::put_axes(*this, schema);
  if (schema.size() < 2 || schema.back() != FieldSpec{std::string(sample_id_name), DType::u64}) {
    detail::board_check::refuse("its last field is not sample_id");
  }
  schema.pop_back();
  try {
    check_schema(schema);
  } catch (const InvalidArgument& error) {
    detail::board_check::refuse(error.what());
  }
  return schema;
}

BATCHCAST_INLINE void check_board(std::span<const std::byte> memory) {
  if (memory.size() < fields_offset) detail::board_check::refuse("it is too small");
  const BoardView board(memory.data());
  const BoardHead& head = board.head();
  if (head.magic != board_magic)
    detail::board_check::refuse("it does not begin with batchcast's magic bytes");
  if (head.layout_version != layout_version) {
    detail::board_check::refuse(
        text("its layout version is {}, ours is {}", head.layout_version, layout_version));
  }
  const std::uint64_t total = memory.size();
  const bool sound =
      head.board_bytes == total && head.field_count >= 2 &&
      head.field_count <= limits::fields_max && head.consumers_max <= limits::consumers_max &&
      head.capacity > 0 && head.capacity < limits::position_max &&
      detail::board_check::inside(fields_offset, head.field_count * sizeof(FieldEntry), total) &&
      head.axis_count <= limits::fields_max && head.axes_offset % cache_line_bytes == 0 &&
      detail::board_check::inside(head.axes_offset, head.axis_count * sizeof(AxisEntry), total) &&
      detail::board_check::inside(head.consumers_offset, head.consumers_max * sizeof(ConsumerEntry),
                                  total) &&
      detail::board_check::inside(head.epochs_offset, limits::epochs_on_board * sizeof(EpochEntry),
                                  total) &&
      detail::board_check::inside(head.recipe_offset, head.recipe_bytes, total) &&
      head.consumers_offset % cache_line_bytes == 0 && head.epochs_offset % cache_line_bytes == 0;
  if (!sound) detail::board_check::refuse("its sizes and offsets contradict each other");
  if (head.pure == 0 && !detail::is_none(head.identity)) {
    detail::board_check::refuse("it has an identity and is not pure");
  }
  Schema all = board.schema();
  detail::board_check::check_axes(board, all);
  all.push_back({std::string(sample_id_name), DType::u64, {}});
  for (std::size_t i = 0; i < all.size(); ++i) {
    const FieldEntry& field = board.field(i);
    const std::uint64_t least = field.axis == 0 ? head.capacity : board.axis(field.axis - 1).rows;
    if (field.capacity < least || (field.axis != 0 && field.stride_bytes != field.sample_bytes) ||
        field.stride_bytes < field.sample_bytes || field.sample_bytes != all[i].byte_count() ||
        field.segment_bytes / field.stride_bytes != field.capacity ||
        field.segment_bytes % field.stride_bytes != 0) {
      detail::board_check::refuse(text("the sizes of field {} contradict each other", i));
    }
  }
}

}  // namespace batchcast::inline v0_1
