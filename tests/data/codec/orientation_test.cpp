// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/codec/orientation.hpp"

#include "catch.hpp"

#include <string>
#include <vector>

using namespace batchcast;
using namespace batchcast::detail;

namespace {

// Three by two pixels, named a to f row by row, turned; rows are separated by a blank.
std::string turned(int orientation) {
  constexpr std::size_t stride = 11;
  std::vector<std::uint8_t> stored(2 * stride);
  for (std::size_t y = 0; y < 2; ++y) {
    for (std::size_t x = 0; x < 3; ++x) {
      for (std::size_t c = 0; c < 3; ++c) {
        stored[y * stride + 3 * x + c] = static_cast<std::uint8_t>('a' + 3 * y + x + 32 * c);
      }
    }
  }
  const ImageSize size = upright_size({3, 2}, orientation);
  std::vector<std::uint8_t> out(18);
  turn_upright({stored.data(), stride, {3, 2}}, orientation, out.data());
  std::string text;
  for (std::size_t i = 0; i < 6; ++i) {
    if (i > 0 && i % static_cast<std::size_t>(size.width) == 0) text += ' ';
    text += static_cast<char>(out[3 * i]);
    REQUIRE(out[3 * i + 1] == out[3 * i] + 32);
    REQUIRE(out[3 * i + 2] == out[3 * i] + 64);
  }
  return text;
}

}  // namespace

TEST_CASE("each EXIF orientation is turned upright as its definition says") {
  CHECK(turned(1) == "abc def");
  CHECK(turned(2) == "cba fed");   // mirrored
  CHECK(turned(3) == "fed cba");   // half a turn
  CHECK(turned(4) == "def abc");   // upside down
  CHECK(turned(5) == "ad be cf");  // transposed
  CHECK(turned(6) == "da eb fc");  // a quarter clockwise
  CHECK(turned(7) == "fc eb da");  // transposed over the other diagonal
  CHECK(turned(8) == "cf be ad");  // a quarter counter-clockwise
}
