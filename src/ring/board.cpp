// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include <batchcast/core/assert.hpp>
#include <batchcast/core/clock.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/ring/board.hpp>
#include <batchcast/ring/cursor.hpp>

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

namespace batchcast::inline v0_1 {
namespace {

std::uint64_t aligned(std::uint64_t bytes) noexcept {
  return (bytes + cache_line_bytes - 1) / cache_line_bytes * cache_line_bytes;
}

struct Offsets {
  std::uint64_t axes, consumers, epochs, recipe, total;
};

Offsets offsets_of(const BoardSpec& spec) noexcept {
  Offsets at{};
  at.axes = fields_offset + spec.fields.size() * sizeof(FieldEntry);
  at.consumers = at.axes + spec.axes.size() * sizeof(AxisEntry);
  at.epochs = at.consumers + spec.consumers_max * sizeof(ConsumerEntry);
  at.recipe = at.epochs + limits::epochs_on_board * sizeof(EpochEntry);
  at.total = at.recipe + aligned(spec.recipe_json.size());
  return at;
}

}  // namespace

FieldEntry field_entry(const FieldSpec& spec, const FieldPlan& plan, int axis) {
  BATCHCAST_ASSERT(spec.shape.size() <= limits::dimensions_max &&
                   spec.name.size() <= limits::field_name_bytes_max);
  FieldEntry entry{};
  entry.capacity = plan.capacity;
  entry.stride_bytes = plan.stride_bytes;
  entry.sample_bytes = plan.sample_bytes;
  entry.segment_bytes = plan.segment_bytes();
  entry.dtype = static_cast<std::uint32_t>(spec.dtype);
  entry.rank = static_cast<std::uint32_t>(spec.shape.size());
  std::copy(spec.shape.begin(), spec.shape.end(), entry.shape.begin());
  std::copy(spec.name.begin(), spec.name.end(), entry.name.begin());
  entry.axis = static_cast<std::uint64_t>(axis + 1);
  return entry;
}

std::uint64_t board_bytes_for(const BoardSpec& spec) { return offsets_of(spec).total; }

void format_board(std::span<std::byte> memory, const BoardSpec& spec) {
  const Offsets at = offsets_of(spec);
  BATCHCAST_ASSERT(memory.size() >= at.total);
  Board board(memory.data());
  BoardHead& head = board.head();
  head.magic = board_magic;
  head.layout_version = layout_version;
  head.field_count = static_cast<std::uint32_t>(spec.fields.size());
  head.board_bytes = memory.size();
  if (::getrandom(head.incarnation.data(), head.incarnation.size(), 0) !=
      static_cast<ssize_t>(head.incarnation.size())) {
    throw SystemError("batchcast: no random bytes for the stream's incarnation", errno);
  }
  head.capacity = spec.capacity;
  head.samples_per_epoch = spec.samples_per_epoch;
  head.epochs = spec.epochs;
  head.created_at_ns = now_ns();
  head.producer_pid = static_cast<std::uint32_t>(::getpid());
  head.consumers_max = spec.consumers_max;
  head.identity = detail::identity_from(spec.identity);
  head.recipe_offset = at.recipe;
  head.recipe_bytes = spec.recipe_json.size();
  head.consumers_offset = at.consumers;
  head.epochs_offset = at.epochs;
  head.pure = spec.pure ? 1 : 0;
  head.first_position = spec.first_position;
  head.axis_count = spec.axes.size();
  head.axes_offset = at.axes;
  for (std::size_t i = 0; i < spec.fields.size(); ++i) board.field(i) = spec.fields[i];
  for (std::size_t i = 0; i < spec.axes.size(); ++i) {
    const AxisSpec& axis = spec.axes[i];
    AxisEntry& entry = board.axis(i);
    BATCHCAST_ASSERT(axis.name.size() < entry.name.size());
    std::copy(axis.name.begin(), axis.name.end(), entry.name.begin());
    entry.rows = axis.rows;
    entry.table_capacity = axis.table_capacity;
    entry.table_bytes = axis.table_bytes;
  }
  ordered::set(board.progress().row_wait_position, limits::position_max);
  std::copy(spec.recipe_json.begin(), spec.recipe_json.end(),
            reinterpret_cast<char*>(memory.data() + at.recipe));
}

}  // namespace batchcast::inline v0_1
