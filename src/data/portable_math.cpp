// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/portable_math.hpp"

#include <batchcast/core/assert.hpp>

#include <bit>
#include <cstdint>

namespace batchcast::inline v0_1::detail {
namespace {

// ln 2 in two parts; the first has so few bits that its product with an exponent is exact.
constexpr double ln2_high = 0x1.62e42feep-1;
constexpr double ln2_low = 0x1.a39ef35793c76p-33;

}  // namespace

double portable_log(double x) noexcept {
  BATCHCAST_ASSERT(x >= 0x1p-1022 && x < 0x1p1023 * 2);
  const auto bits = std::bit_cast<std::uint64_t>(x);
  auto exponent = static_cast<int>(bits >> 52) - 1023;
  double mantissa = std::bit_cast<double>((bits & 0x000f'ffff'ffff'ffff) | 0x3ff0'0000'0000'0000);
  if (mantissa > 0x1.6a09e667f3bcdp0) {  // sqrt(2)
    mantissa *= 0.5;
    ++exponent;
  }
  // log(1 + f) = 2 atanh(s) with s = f / (2 + f), whose series needs eleven terms here. Its first,
  // 2 s, is written as f - f²/2 + s f²/2: f is exact, so only small terms carry an error.
  const double f = mantissa - 1;
  const double s = f / (2 + f);
  const double z = s * s;
  double series = 0;
  for (int odd = 23; odd >= 3; odd -= 2) series = z * (series + 2.0 / odd);
  const double half_square = 0.5 * f * f;
  const double scale = exponent;
  return scale * ln2_high - ((half_square - (s * (half_square + series) + scale * ln2_low)) - f);
}

double portable_exp(double x) noexcept {
  BATCHCAST_ASSERT(x >= -700 && x <= 700);
  const double power = round_half_even(x * 0x1.71547652b82fep0);
  const double r = (x - power * ln2_high) - power * ln2_low;
  double tail = 0;  // (e^r - 1 - r) / r², by Horner over 1 / n!
  for (int n = 14; n >= 3; --n) tail = (tail + 1) * (r / n);
  tail = 0.5 * (tail + 1);
  const double result = 1 + (r + r * r * tail);
  const auto exponent = static_cast<std::uint64_t>(static_cast<std::int64_t>(power) + 1023);
  return result * std::bit_cast<double>(exponent << 52);
}

double portable_sin(double x) noexcept {
  // Pi in two parts, of which the first times a small whole number is exact.
  constexpr double pi_high = 0x1.921fb544p1;
  constexpr double pi_low = 0x1.0b4611a626331p-33;
  const double turns = round_half_even(x / portable_pi);
  const double r = (x - turns * pi_high) - turns * pi_low;
  const double square = r * r;
  // Taylor's series as far as it counts for |r| <= pi / 2.
  double sum = 0;
  for (double n = 22; n >= 2; n -= 2) sum = (1 + sum) * -square / (n * (n + 1));
  const double sine = r + r * sum;
  return static_cast<std::int64_t>(turns) % 2 == 0 ? sine : -sine;
}

}  // namespace batchcast::inline v0_1::detail
