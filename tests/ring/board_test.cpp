// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "../catch.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/ring/board.hpp>
#include "ring/ring_plan.hpp"

#include <cstring>
#include <random>
#include <string>
#include <vector>

using namespace batchcast;
using Catch::Contains;

namespace {

const Schema fields = {{"image", DType::f32, {3, 4, 5}},
                       {"Größe", DType::i64, {}},
                       {std::string(limits::field_name_bytes_max, 'n'), DType::u8,
                        std::vector<std::int64_t>(limits::dimensions_max, 2)}};
const std::string identity = "00112233445566778899aabbccddeeff";

class TestBoard {
 public:
  TestBoard() {
    Schema all = fields;
    all.push_back({std::string(sample_id_name), DType::u64});
    const RingPlan plan = plan_ring(all, 1 << 20, 4096);
    std::vector<FieldEntry> entries;
    for (std::size_t i = 0; i < all.size(); ++i) {
      entries.push_back(field_entry(all[i], plan.fields[i]));
    }
    BoardSpec spec;
    spec.recipe_json = "{}";
    spec.identity = identity;
    spec.fields = entries;
    spec.capacity = plan.capacity;
    spec.pure = true;
    words_.resize(board_bytes_for(spec) / sizeof(Line));
    format_board(bytes(), spec);
  }
  [[nodiscard]] std::span<std::byte> bytes() noexcept {
    return std::as_writable_bytes(std::span(words_));
  }
  [[nodiscard]] Board board() noexcept { return Board(bytes().data()); }
  [[nodiscard]] std::string refusal() {
    try {
      check_board(bytes());
    } catch (const Refused& error) {
      return error.what();
    }
    return "";
  }

 private:
  struct alignas(cache_line_bytes) Line {
    std::array<std::byte, cache_line_bytes> bytes;
  };
  std::vector<Line> words_;
};

template <class Change>
std::string refusal_after(Change change) {
  TestBoard made;
  change(made.board());
  return made.refusal();
}

}  // namespace

TEST_CASE("a board gives the schema and the identity that it was made with") {
  TestBoard made;
  CHECK(made.refusal().empty());
  CHECK(made.board().schema() == fields);
  CHECK(detail::text_of(made.board().head().identity) == identity);
  CHECK(made.board().recipe_json() == "{}");
}

TEST_CASE("a board whose fields cannot be is refused") {
  const auto field = [](auto change) {
    return refusal_after([&](Board board) { change(board.field(0)); });
  };
  CHECK_THAT(field([](FieldEntry& entry) { entry.dtype = 13; }), Contains("field 0"));
  CHECK_THAT(field([](FieldEntry& entry) { entry.rank = 9; }), Contains("field 0"));
  CHECK_THAT(field([](FieldEntry& entry) { entry.rank = ~0U; }), Contains("field 0"));
  CHECK_THAT(field([](FieldEntry& entry) { entry.rank = 2; }), Contains("after its last"));
  CHECK_THAT(field([](FieldEntry& entry) { entry.shape[1] = 0; }), Contains("extent of 0"));
  CHECK_THAT(field([](FieldEntry& entry) { entry.shape[1] = -1; }), Contains("extent of -1"));
  CHECK_THAT(field([](FieldEntry& entry) { entry.shape[1] = INT64_MAX; }), Contains("overflow"));
  CHECK_THAT(field([](FieldEntry& entry) { entry.shape[1] = 5; }), Contains("contradict"));
  CHECK_THAT(field([](FieldEntry& entry) { entry.name.fill('x'); }), Contains("field 0"));
  CHECK_THAT(field([](FieldEntry& entry) { entry.name.fill('\0'); }), Contains("field 0"));
  CHECK_THAT(field([](FieldEntry& entry) { entry.name[63] = 'x'; }), Contains("field 0"));
  CHECK_THAT(field([](FieldEntry& entry) { entry.name[0] = '\n'; }), Contains("unprintable"));
  CHECK_THAT(field([](FieldEntry& entry) { entry.name[0] = '\xff'; }), Contains("UTF-8"));
  CHECK_THAT(field([](FieldEntry& entry) { entry.sample_bytes += 4; }), Contains("contradict"));
  CHECK_THAT(refusal_after([](Board board) { board.field(1).name = board.field(0).name; }),
             Contains("two fields"));
  CHECK_THAT(refusal_after([](Board board) { board.field(3).name[0] = 'x'; }),
             Contains("sample_id"));
  CHECK_THAT(refusal_after([](Board board) { board.head().field_count = 3; }),
             Contains("sample_id"));
  CHECK_THAT(refusal_after([](Board board) { board.head().field_count = 65; }),
             Contains("contradict"));
  CHECK_THAT(refusal_after([](Board board) { board.head().pure = 0; }), Contains("identity"));
  CHECK_THAT(refusal_after([](Board board) { board.head().layout_version = 1; }),
             Contains("layout version is 1") && Contains("ours is 3"));
}

TEST_CASE("mutated boards are refused, or say what a stream can have") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 2'000; ++i) {
    TestBoard made;
    for (unsigned n = random() % 4 + 1; n > 0; --n) {
      const bool in_head = random() % 2 == 0;
      const std::size_t at =
          in_head ? random() % sizeof(BoardHead)
                  : fields_offset + random() % ((fields.size() + 1) * sizeof(FieldEntry));
      made.bytes()[at] = static_cast<std::byte>(random());
    }
    if (!made.refusal().empty()) continue;
    CHECK_NOTHROW(check_schema(made.board().schema()));
    CHECK(made.board().recipe_json().size() <= made.bytes().size());
  }
}
