// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/source/gunzip.hpp"

#include "catch.hpp"

#include <batchcast/core/error.hpp>

#include <string>
#include <string_view>

using namespace batchcast;

namespace {

constexpr unsigned char packed[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02,
                                    0x03, 0x2b, 0xce, 0xac, 0x50, 0xc8, 0x49, 0x2d, 0x29,
                                    0x49, 0x2d, 0x2a, 0xd6, 0x51, 0x28, 0x46, 0x70, 0x00,
                                    0x2d, 0x4b, 0x81, 0xad, 0x18, 0x00, 0x00, 0x00};

std::string_view bytes() { return {reinterpret_cast<const char*>(packed), sizeof packed}; }

}  // namespace

TEST_CASE("gzipped bytes are unpacked, and damaged ones are refused") {
  CHECK(detail::gunzip(bytes()) == "six letters, six letters");
  CHECK_THROWS_AS(detail::gunzip("six letters, six letters"), Error);
  CHECK_THROWS_AS(detail::gunzip(""), Error);
  for (std::size_t size = 0; size < bytes().size() - 8; ++size) {
    CHECK_THROWS_AS(detail::gunzip(bytes().substr(0, size)), Error);
  }
}
