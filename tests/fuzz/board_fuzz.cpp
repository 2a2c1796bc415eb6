// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/error.hpp>
#include <batchcast/ring/board.hpp>

#include "fuzz.hpp"

#include <cstring>
#include <vector>

namespace {

struct alignas(batchcast::cache_line_bytes) Line {
  std::byte bytes[batchcast::cache_line_bytes];
};

/// A board's head and fields, as the input has them; what follows is as long as it has to be.
std::span<std::byte> board_of(std::span<const std::byte> input) {
  static std::vector<Line> lines(8192);
  const auto board = std::as_writable_bytes(std::span(lines));
  const std::size_t fields_bytes = batchcast::limits::fields_max * sizeof(batchcast::FieldEntry);
  std::fill_n(board.begin(), batchcast::fields_offset + fields_bytes, std::byte{});
  const auto head = input.first(std::min(input.size(), sizeof(batchcast::BoardHead)));
  const auto fields =
      input.subspan(head.size(), std::min(input.size() - head.size(), fields_bytes));
  std::copy(head.begin(), head.end(), board.begin());
  std::copy(fields.begin(), fields.end(), board.begin() + batchcast::fields_offset);
  const std::uint64_t bytes = board.size();
  std::memcpy(board.data() + offsetof(batchcast::BoardHead, board_bytes), &bytes, sizeof bytes);
  return board;
}

}  // namespace

// What a consumer reads of a producer's board: refused, or a stream that can be.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<std::byte> bytes = board_of(fuzz::bytes_of(data, size));
  const batchcast::BoardView board(bytes.data());
  try {
    batchcast::check_board(bytes);
  } catch (const batchcast::Refused&) {
    return 0;
  }
  const batchcast::Schema schema = board.schema();
  batchcast::check_schema(schema);
  BATCHCAST_ASSERT(schema.size() + 1 == board.head().field_count);
  BATCHCAST_ASSERT(!batchcast::schema_to_json(schema).empty());
  for (const batchcast::FieldSpec& field : schema) BATCHCAST_ASSERT(!to_text(field).empty());
  static_cast<void>(std::count(board.recipe_json().begin(), board.recipe_json().end(), 'x'));
  return 0;
}
