// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/codec/jpeg/inverse_dct_block.hpp"

#include <algorithm>
#include <array>

namespace batchcast::inline v0_1::detail {

namespace {

std::int16_t wrapped(int value) {
  return static_cast<std::int16_t>(static_cast<std::uint16_t>(static_cast<unsigned>(value)));
}

using Eight = std::array<std::int16_t, 8>;

Eight transform(const Eight& in, int shift) {
  using U = std::uint32_t;
  const auto times = [](int a, int ca, int b, int cb) {
    return static_cast<U>(a * ca) + static_cast<U>(b * cb);
  };
  const U sum = static_cast<U>(wrapped(in[0] + in[4])) << 13;
  const U difference = static_cast<U>(wrapped(in[0] - in[4])) << 13;
  const U e2 = times(in[2], 4433, in[6], 4433 - 15137);
  const U e3 = times(in[2], 4433 + 6270, in[6], 4433);
  const U even[4] = {sum + e3, difference + e2, difference - e2, sum - e3};
  const int z3 = wrapped(in[7] + in[3]);
  const int z4 = wrapped(in[5] + in[1]);
  const U s3 = times(z3, 9633 - 16069, z4, 9633);
  const U s4 = times(z3, 9633, z4, 9633 - 3196);
  const U odd[4] = {times(in[1], 12299 - 7373, in[7], -7373) + s4,
                    times(in[3], 25172 - 20995, in[5], -20995) + s3,
                    times(in[5], 16819 - 20995, in[3], -20995) + s4,
                    times(in[7], 2446 - 7373, in[1], -7373) + s3};
  Eight out;
  const auto descaled = [&](U value) {
    const auto v = static_cast<std::int32_t>(value + (U{1} << (shift - 1))) >> shift;
    return static_cast<std::int16_t>(std::clamp(v, -32768, 32767));
  };
  for (std::size_t i = 0; i < 4; ++i) {
    out[i] = descaled(even[i] + odd[i]);
    out[7 - i] = descaled(even[i] - odd[i]);
  }
  return out;
}

}  // namespace

void inverse_dct_block(const std::int16_t* block, std::uint8_t* out, std::size_t stride) {
  Eight columns[8];
  const bool flat = std::all_of(block + 8, block + 64, [](auto c) { return c == 0; });
  for (std::size_t x = 0; x < 8; ++x) {
    Eight in;
    for (std::size_t y = 0; y < 8; ++y) in[y] = block[8 * y + x];
    if (flat) {
      columns[x].fill(wrapped(in[0] * 4));
    } else {
      columns[x] = transform(in, 11);
    }
  }
  for (std::size_t y = 0; y < 8; ++y) {
    Eight in;
    for (std::size_t x = 0; x < 8; ++x) in[x] = columns[x][y];
    const Eight row = transform(in, 18);
    for (std::size_t x = 0; x < 8; ++x) {
      out[y * stride + x] = static_cast<std::uint8_t>(std::clamp(row[x] + 128, 0, 255));
    }
  }
}

}  // namespace batchcast::inline v0_1::detail
