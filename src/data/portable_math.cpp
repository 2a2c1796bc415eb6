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

/// The sum of two doubles, of which the second is at most half a unit of the first's last place.
struct Twice {
  double high = 0;
  double low = 0;
};

Twice ordered_sum(double larger, double smaller) noexcept {
  const double high = larger + smaller;
  return {high, smaller - (high - larger)};
}

Twice exact_sum(double a, double b) noexcept {
  const double high = a + b;
  const double part = high - a;
  return {high, (a - (high - part)) + (b - part)};
}

// Dekker's product, whose halves of 26 bits have exact products.
Twice exact_product(double a, double b) noexcept {
  const auto upper = [](double x) {
    const double shifted = 0x1.0000002p27 * x;
    return shifted - (shifted - x);
  };
  const double high = a * b;
  const double a_high = upper(a);
  const double a_low = a - a_high;
  const double b_high = upper(b);
  const double b_low = b - b_high;
  return {high, ((a_high * b_high - high) + a_high * b_low + a_low * b_high) + a_low * b_low};
}

Twice operator-(Twice a) noexcept { return {-a.high, -a.low}; }

Twice operator+(Twice a, Twice b) noexcept {
  const Twice high = exact_sum(a.high, b.high);
  const Twice low = exact_sum(a.low, b.low);
  const Twice sum = ordered_sum(high.high, high.low + low.high);
  return ordered_sum(sum.high, sum.low + low.low);
}

Twice operator*(Twice a, Twice b) noexcept {
  const Twice product = exact_product(a.high, b.high);
  return ordered_sum(product.high, product.low + (a.high * b.low + a.low * b.high));
}

Twice operator/(Twice a, Twice b) noexcept {
  const double first = a.high / b.high;
  const Twice rest = a + -(Twice{first, 0} * b);
  const double second = rest.high / b.high;
  const Twice rest2 = rest + -(Twice{second, 0} * b);
  return ordered_sum(first, second) + Twice{rest2.high / b.high, 0};
}

struct SineCosine {
  Twice sine;
  Twice cosine;
};

// Taylor's series; |r| is below 2.
SineCosine series(Twice r) noexcept {
  const Twice square = r * r;
  // Sums by Horner, from terms on that are below 2^-100.
  const auto sum = [&](int last) {
    Twice total{1, 0};
    for (int n = last; n >= 1; n -= 2) {
      total = Twice{1, 0} + -(square * total / Twice{static_cast<double>(n) * (n + 1), 0});
    }
    return total;
  };
  return {r * sum(30), sum(29)};
}

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
  // log(1 + f) = 2 atanh(s) with s = f / (2 + f), whose series needs eleven terms here. The first
  // term, 2 s, is written as f - f²/2 + s f²/2: f is exact, so only small terms carry an error.
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

AngleFunctions angle_functions(double x) noexcept {
  BATCHCAST_ASSERT(x >= -1e5 && x <= 1e5);
  // Half of pi in three parts, of which the first two times a whole number below 2^20 are exact.
  constexpr double part1 = 0x1.921fb544p0;
  constexpr double part2 = 0x1.0b4611a6p-34;
  constexpr double part3 = 0x1.3198a2e037073p-69;
  const double quarters = round_half_even(x / (portable_pi / 2));
  const Twice r =
      exact_sum(x, -quarters * part1) + Twice{-quarters * part2, 0} + Twice{-quarters * part3, 0};
  const SineCosine reduced = series(r);
  const auto quarter = static_cast<std::uint64_t>(static_cast<std::int64_t>(quarters)) % 4;
  const Twice sine = quarter % 2 == 0 ? reduced.sine : reduced.cosine;
  const Twice cosine = quarter % 2 == 0 ? reduced.cosine : reduced.sine;
  const Twice signed_sine = quarter < 2 ? sine : -sine;
  const Twice signed_cosine = quarter == 0 || quarter == 3 ? cosine : -cosine;
  return {signed_sine.high, signed_cosine.high, (signed_sine / signed_cosine).high};
}

double portable_atan(double x) noexcept {
  if (x < 0) return -portable_atan(-x);
  if (x == 0) return x;
  // Newton's steps double the digits; the first guess is within 0.01.
  const double guess = x <= 1 ? x / (1 + 0.28 * x * x) : portable_pi / 2 - x / (x * x + 0.28);
  Twice y{guess, 0};
  for (int i = 0; i < 6; ++i) {
    const auto [sine, cosine] = series(y);
    y = y + (Twice{x, 0} * cosine + -sine) * cosine;
  }
  return y.high;
}

double round_to_15_digits(double x) noexcept {
  BATCHCAST_ASSERT(x >= -1 && x <= 1);
  constexpr double digits = 1e15;
  const Twice scaled = exact_product(x, digits);
  double whole = round_half_even(scaled.high);
  const double rest = (scaled.high - whole) + scaled.low;
  if (rest > 0.5) whole += 1;
  if (rest < -0.5) whole -= 1;
  return whole / digits;
}

}  // namespace batchcast::inline v0_1::detail
