// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "../catch.hpp"

#include <batchcast/core/printable.hpp>

#include <string>

using batchcast::printable;
using batchcast::printable_lines;

TEST_CASE("what a terminal would obey is written out") {
  CHECK(printable("cats/n01.jpg") == "cats/n01.jpg");
  CHECK(printable("a\nb\rc\td") == R"(a\nb\rc\td)");
  CHECK(printable("\x1b[2J") == R"(\x1b[2J)");
  CHECK(printable(std::string_view("a\0b\x7f", 4)) == R"(a\x00b\x7f)");
  // U+009B does on some terminals what ESC [ does.
  CHECK(printable("\xc2\x9b"
                  "2J") == R"(\xc2\x9b2J)");
  CHECK(printable("") == "");
}

TEST_CASE("other characters stay, and what is none is written byte by byte") {
  CHECK(printable("Straße 数据 \xf0\x9f\x90\x88") == "Straße 数据 \xf0\x9f\x90\x88");
  CHECK(printable("\xff") == R"(\xff)");
  CHECK(printable("a\xc3") == R"(a\xc3)");
  CHECK(printable("\xe6\x95z") == R"(\xe6\x95z)");
  CHECK(printable("\xc0\x9b") == R"(\xc0\x9b)");          // ESC, written longer than need be
  CHECK(printable("\xe0\x80\x9b") == R"(\xe0\x80\x9b)");  // and longer still
  CHECK(printable("\xed\xa0\x80") == R"(\xed\xa0\x80)");  // half of a pair
  CHECK(printable("\xf4\x90\x80\x80") == R"(\xf4\x90\x80\x80)");
}

TEST_CASE("messages keep their lines") {
  CHECK(printable_lines("one\n\ttwo\x1b[1m") == "one\n\ttwo\\x1b[1m");
}
