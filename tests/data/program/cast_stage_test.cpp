// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/program/tensor_program.hpp"

#include "catch.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

// What `to` makes of each element.
using namespace batchcast;

namespace {

/// Elements of the type `To`; booleans are bytes.
template <class To, class From>
std::vector<To> cast(DType from, DType to, const std::vector<From>& in) {
  std::vector<To> out(in.size());
  StageContext context({}, DrawName{}, {}, nullptr);
  detail::cast_stage(from, to)->run(std::as_bytes(std::span(in)),
                                    std::as_writable_bytes(std::span(out)), context);
  return out;
}

/// The first element of eight bytes.
std::uint64_t cast_one(DType from, DType to, std::uint64_t in) {
  std::uint64_t out = 0;
  StageContext context({}, DrawName{}, {}, nullptr);
  detail::cast_stage(from, to)->run(std::as_bytes(std::span(&in, 1)).first(size_of(from)),
                                    std::as_writable_bytes(std::span(&out, 1)).first(size_of(to)),
                                    context);
  return out;
}

}  // namespace

TEST_CASE("an integer that does not fit becomes the nearest one that does") {
  CHECK(cast<std::int8_t, std::int32_t>(DType::i32, DType::i8, {-1000, -128, 93, 127, 128}) ==
        std::vector<std::int8_t>{-128, -128, 93, 127, 127});
  CHECK(cast<std::uint8_t, std::int64_t>(DType::i64, DType::u8, {-1, 0, 255, 500}) ==
        std::vector<std::uint8_t>{0, 0, 255, 255});
  CHECK(cast<std::int64_t, std::uint64_t>(DType::u64, DType::i64, {~std::uint64_t{0}}) ==
        std::vector{std::numeric_limits<std::int64_t>::max()});
}

TEST_CASE("a float loses its fraction, is cut to what fits, and NaN becomes 0") {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(cast<std::int32_t, float>(DType::f32, DType::i32, {-1.9F, 1.9F, nan, 1e20F, -1e20F}) ==
        std::vector<std::int32_t>{-1, 1, 0, std::numeric_limits<std::int32_t>::max(),
                                  std::numeric_limits<std::int32_t>::min()});
  // As a float the largest integer is rounded up, and is none.
  CHECK(cast<std::int64_t, float>(DType::f32, DType::i64, {0x1p63F}) ==
        std::vector{std::numeric_limits<std::int64_t>::max()});
  CHECK(cast<std::uint8_t, double>(DType::f64, DType::u8, {-0.5, 254.9, 255.5}) ==
        std::vector<std::uint8_t>{0, 254, 255});
}

TEST_CASE("a boolean is 0 or 1, and everything but 0 is true") {
  CHECK(cast<std::int16_t, std::uint8_t>(DType::boolean, DType::i16, {0, 1, 7}) ==
        std::vector<std::int16_t>{0, 1, 1});
  CHECK(cast<std::uint8_t, float>(DType::f32, DType::boolean, {0.0F, -0.0F, 0.25F, -3.0F}) ==
        std::vector<std::uint8_t>{0, 0, 1, 1});
}

TEST_CASE("halves are rounded from floats, and back are what they were") {
  CHECK(cast<std::uint16_t, std::int32_t>(DType::i32, DType::f16, {90}) ==
        std::vector<std::uint16_t>{0x55a0});
  CHECK(cast<std::uint16_t, float>(DType::f32, DType::bf16, {90.0F, 1.00390625F}) ==
        std::vector<std::uint16_t>{0x42b4, 0x3f80});
  CHECK(cast<float, std::uint16_t>(DType::f16, DType::f32, {0x55a0}) == std::vector{90.0F});
  CHECK(cast<float, std::uint16_t>(DType::bf16, DType::f32, {0x42b4}) == std::vector{90.0F});
}

TEST_CASE("each type is cast to each") {
  constexpr std::array all = {DType::u8,  DType::i8,  DType::i16,    DType::i32, DType::i64,
                              DType::u16, DType::u32, DType::u64,    DType::f16, DType::bf16,
                              DType::f32, DType::f64, DType::boolean};
  for (const DType from : all) {
    for (const DType to : all) {
      INFO(name_of(from) << " to " << name_of(to));
      CHECK(cast_one(to, DType::u64, cast_one(from, to, cast_one(DType::u64, from, 1))) == 1);
    }
  }
}
