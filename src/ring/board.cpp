// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include <batchcast/core/assert.hpp>
#include <batchcast/core/clock.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/ring/board.hpp>

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

namespace batchcast {
namespace {

std::uint64_t aligned(std::uint64_t bytes) noexcept {
  return (bytes + cache_line_bytes - 1) / cache_line_bytes * cache_line_bytes;
}

struct Offsets {
  std::uint64_t consumers, epochs, schema, recipe, total;
};

Offsets offsets_of(const BoardSpec& spec) noexcept {
  Offsets at{};
  at.consumers = fields_offset + spec.fields.size() * sizeof(FieldEntry);
  at.epochs = at.consumers + spec.consumers_max * sizeof(ConsumerEntry);
  at.schema = at.epochs + limits::epochs_on_board * sizeof(EpochEntry);
  at.recipe = at.schema + aligned(spec.schema_json.size());
  at.total = at.recipe + aligned(spec.recipe_json.size());
  return at;
}

bool inside(std::uint64_t offset, std::uint64_t bytes, std::uint64_t total) noexcept {
  return offset <= total && bytes <= total - offset;
}

}  // namespace

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
  head.schema_offset = at.schema;
  head.schema_bytes = spec.schema_json.size();
  head.recipe_offset = at.recipe;
  head.recipe_bytes = spec.recipe_json.size();
  head.consumers_offset = at.consumers;
  head.epochs_offset = at.epochs;
  head.pure = spec.pure ? 1 : 0;
  head.first_position = spec.first_position;
  for (std::size_t i = 0; i < spec.fields.size(); ++i) board.field(i) = spec.fields[i];
  const auto text_at = [&](std::uint64_t offset) {
    return reinterpret_cast<char*>(memory.data() + offset);
  };
  std::copy(spec.schema_json.begin(), spec.schema_json.end(), text_at(at.schema));
  std::copy(spec.recipe_json.begin(), spec.recipe_json.end(), text_at(at.recipe));
}

void check_board(std::span<const std::byte> memory) {
  const auto refuse = [](const std::string& what) {
    throw Refused("batchcast: the producer's board cannot be read: " + what +
                  ". Producer and consumer must be built from versions of batchcast with the same "
                  "layout.");
  };
  if (memory.size() < fields_offset) refuse("it is too small");
  const BoardHead& head = BoardView(memory.data()).head();
  if (head.magic != board_magic) refuse("it does not begin with batchcast's magic bytes");
  if (head.layout_version != layout_version) {
    refuse("its layout version is " + std::to_string(head.layout_version) + ", ours is " +
           std::to_string(layout_version));
  }
  const std::uint64_t total = memory.size();
  const bool sound =
      head.board_bytes == total && head.field_count >= 2 &&
      head.field_count <= limits::fields_max && head.consumers_max <= limits::consumers_max &&
      head.capacity > 0 && head.capacity < limits::position_max &&
      inside(fields_offset, head.field_count * sizeof(FieldEntry), total) &&
      inside(head.consumers_offset, head.consumers_max * sizeof(ConsumerEntry), total) &&
      inside(head.epochs_offset, limits::epochs_on_board * sizeof(EpochEntry), total) &&
      inside(head.schema_offset, head.schema_bytes, total) &&
      inside(head.recipe_offset, head.recipe_bytes, total) &&
      head.consumers_offset % cache_line_bytes == 0 && head.epochs_offset % cache_line_bytes == 0;
  if (!sound) refuse("its sizes and offsets contradict each other");
  for (std::size_t i = 0; i < head.field_count; ++i) {
    const FieldEntry& field = BoardView(memory.data()).field(i);
    if (field.capacity < head.capacity || field.stride_bytes < field.sample_bytes ||
        field.sample_bytes == 0 || field.segment_bytes / field.stride_bytes != field.capacity ||
        field.segment_bytes % field.stride_bytes != 0) {
      refuse("the sizes of field " + std::to_string(i) + " contradict each other");
    }
  }
}

}  // namespace batchcast
