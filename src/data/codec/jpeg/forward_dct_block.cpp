// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/codec/jpeg/forward_dct_block.hpp"

namespace batchcast::inline v0_1::detail {
namespace {

constexpr int constant_bits = 13;
constexpr int pass_bits = 2;

constexpr std::int32_t scaled_down(std::int32_t value, int bits) noexcept {
  return (value + (1 << (bits - 1))) >> bits;
}

/// Eight numbers that are `step` apart, in place. `shift` is that of products.
template <class Whole>
void transform(std::int16_t* at, std::size_t step, int shift, const Whole& whole) {
  const auto in = [&](std::size_t i) { return std::int32_t{at[i * step]}; };
  const auto put = [&](std::size_t i, std::int32_t value) {
    at[i * step] = static_cast<std::int16_t>(value);
  };
  const std::array<std::int32_t, 4> sums = {in(0) + in(7), in(1) + in(6), in(2) + in(5),
                                            in(3) + in(4)};
  const std::array<std::int32_t, 4> parts = {in(3) - in(4), in(2) - in(5), in(1) - in(6),
                                             in(0) - in(7)};
  const std::int32_t outer = sums[0] + sums[3];
  const std::int32_t inner = sums[1] + sums[2];
  const std::int32_t across = sums[0] - sums[3];
  const std::int32_t along = sums[1] - sums[2];
  put(0, whole(outer + inner));
  put(4, whole(outer - inner));
  const std::int32_t turn = (along + across) * 4433;
  put(2, scaled_down(turn + across * 6270, shift));
  put(6, scaled_down(turn - along * 15137, shift));
  const std::int32_t z3 = parts[0] + parts[2];
  const std::int32_t z4 = parts[1] + parts[3];
  const std::int32_t z5 = (z3 + z4) * 9633;
  const std::int32_t s1 = (parts[0] + parts[3]) * -7373;
  const std::int32_t s2 = (parts[1] + parts[2]) * -20995;
  const std::int32_t s3 = z3 * -16069 + z5;
  const std::int32_t s4 = z4 * -3196 + z5;
  put(7, scaled_down(parts[0] * 2446 + s1 + s3, shift));
  put(5, scaled_down(parts[1] * 16819 + s2 + s4, shift));
  put(3, scaled_down(parts[2] * 25172 + s2 + s3, shift));
  put(1, scaled_down(parts[3] * 12299 + s1 + s4, shift));
}

}  // namespace

std::array<std::int16_t, 64> forward_dct_block(const std::uint8_t* samples, std::size_t stride) {
  std::array<std::int16_t, 64> block{};
  for (std::size_t y = 0; y < 8; ++y) {
    for (std::size_t x = 0; x < 8; ++x) {
      block[8 * y + x] = static_cast<std::int16_t>(samples[y * stride + x] - 128);
    }
    transform(block.data() + 8 * y, 1, constant_bits - pass_bits,
              [](std::int32_t sum) { return sum * (1 << pass_bits); });
  }
  for (std::size_t x = 0; x < 8; ++x) {
    transform(block.data() + x, 8, constant_bits + pass_bits,
              [](std::int32_t sum) { return scaled_down(sum, pass_bits); });
  }
  return block;
}

}  // namespace batchcast::inline v0_1::detail
