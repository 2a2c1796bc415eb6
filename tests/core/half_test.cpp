// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "core/half.hpp"

#include "catch.hpp"

#include <cmath>
#include <limits>

using namespace batchcast::detail;

namespace {

bool is_nan_f16(std::uint32_t bits) { return (bits & 0x7fffU) > 0x7c00U; }

// The neighbour of smallest distance, found among all; of two, the even one.
std::uint16_t nearest_f16(float value) {
  double best = std::numeric_limits<double>::infinity();
  std::uint16_t found = 0;
  for (std::uint32_t bits = 0; bits < 0x7c00U; ++bits) {
    const double distance =
        std::abs(std::abs(double{value}) - double{f32_from_f16(static_cast<std::uint16_t>(bits))});
    const bool tie_to_even = distance == best && (bits & 1U) == 0;
    if (distance < best || tie_to_even) {
      best = distance;
      found = static_cast<std::uint16_t>(bits);
    }
  }
  return static_cast<std::uint16_t>(found | (std::signbit(value) ? 0x8000U : 0U));
}

}  // namespace

TEST_CASE("every f16 and bf16 survives the way to f32 and back") {
  for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    if (!is_nan_f16(bits)) REQUIRE(f16_from_f32(f32_from_f16(half)) == half);
    if ((bits & 0x7fffU) <= 0x7f80U) REQUIRE(bf16_from_f32(f32_from_bf16(half)) == half);
  }
}

TEST_CASE("f16 rounds to nearest, ties to even, also below its normal numbers") {
  for (const float value : {0.1F, -0.1F, 1.0F + 0x1p-11F, 1.0F + 0x1.8p-10F, 0x1p-25F, 0x1.8p-24F,
                            0x1.004p-14F, 3.3e-6F, -5.9e-8F, 65503.9F, 1234.56F}) {
    CAPTURE(value);
    CHECK(f16_from_f32(value) == nearest_f16(value));
  }
  CHECK(f16_from_f32(65519.996F) == 0x7bff);
  CHECK(f16_from_f32(65520.0F) == 0x7c00);
  CHECK(f16_from_f32(1e9F) == 0x7c00);
  CHECK(f16_from_f32(-std::numeric_limits<float>::infinity()) == 0xfc00);
  CHECK(is_nan_f16(f16_from_f32(std::numeric_limits<float>::quiet_NaN())));
}

TEST_CASE("bf16 rounds to nearest, ties to even") {
  CHECK(bf16_from_f32(1.0F) == 0x3f80);
  CHECK(bf16_from_f32(1.0F + 0x1p-8F) == 0x3f80);
  CHECK(bf16_from_f32(1.0F + 0x1.8p-7F) == 0x3f82);
  CHECK(bf16_from_f32(1.0F + 0x1.02p-8F) == 0x3f81);
  CHECK(bf16_from_f32(std::numeric_limits<float>::max()) == 0x7f80);
  CHECK((bf16_from_f32(std::numeric_limits<float>::quiet_NaN()) & 0x7fffU) > 0x7f80U);
}
