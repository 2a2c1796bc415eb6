// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "core/span_buffer.hpp"

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "catch.hpp"

using namespace batchcast;
using detail::Span;
using detail::SpanBuffer;
using detail::SpanKind;

TEST_CASE("a buffer of spans keeps what fits while it is on, and nothing else", "[trace]") {
  SpanBuffer buffer;
  std::vector<Span> room;
  buffer.note(SpanKind::making, 1, 2, 3);
  CHECK(buffer.take(room) == 0);
  CHECK(room.empty());

  buffer.turn_on(2);
  room.reserve(2);
  const void* const memory = room.data();
  for (std::uint64_t i = 0; i < 5; ++i) buffer.note(SpanKind::making, i, i + 1, i);
  CHECK(buffer.take(room) == 3);
  REQUIRE(room.size() == 2);
  CHECK(room[1].began_ns == 1);
  CHECK(room[1].value == 1);
  room.clear();
  buffer.note(SpanKind::waiting, 7, 9);
  CHECK(buffer.take(room) == 0);
  REQUIRE(room.size() == 1);
  CHECK(room.data() == memory);  // nothing was allocated

  buffer.note(SpanKind::waiting, 9, 10);
  buffer.turn_off();
  buffer.note(SpanKind::waiting, 10, 11);
  room.clear();
  CHECK(buffer.take(room) == 0);
  CHECK(room.empty());
}

TEST_CASE("a buffer of spans loses none between its threads", "[trace]") {
  constexpr std::uint64_t noted = 20'000;
  SpanBuffer buffer;
  buffer.turn_on(64);
  std::atomic<bool> done = false;
  std::thread worker([&] {
    for (std::uint64_t i = 0; i < noted; ++i) buffer.note(SpanKind::sample, i, i + 1, i);
    done.store(true);
  });
  std::vector<Span> room;
  room.reserve(64);
  std::uint64_t taken = 0;
  std::uint64_t left_out = 0;
  std::uint64_t next = 0;
  bool in_order = true;
  for (bool last = false; !last;) {
    last = done.load();
    left_out += buffer.take(room);
    for (const Span& span : room) {
      in_order = in_order && span.value >= next;
      next = span.value + 1;
    }
    taken += room.size();
    room.clear();
  }
  worker.join();
  CHECK(in_order);
  CHECK(taken + left_out == noted);
}
