// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/portable_math.hpp"

#include <batchcast/data/random.hpp>

#include <algorithm>
#include <cmath>

#include "catch.hpp"

namespace bc = batchcast;
using bc::detail::portable_exp;
using bc::detail::portable_log;
using bc::detail::portable_sin;
using bc::detail::round_half_even;

namespace {

// In units of the last place of the true value, for which long double is exact enough.
double error_in_ulps(double found, long double truth) {
  const double nearest = static_cast<double>(truth);
  const double unit = std::nextafter(std::abs(nearest), INFINITY) - std::abs(nearest);
  return static_cast<double>(std::abs(static_cast<long double>(found) - truth) /
                             static_cast<long double>(unit));
}

}  // namespace

TEST_CASE("logarithm and exponential are within one unit of the last place") {
  bc::Draws draws({.seed = 3}, 0);
  double log_worst = 0;
  double exp_worst = 0;
  for (int i = 0; i < 200'000; ++i) {
    const double scale = std::ldexp(1.0, static_cast<int>(draws.below(80)) - 40);
    const double x = (1 + draws.unit_f64()) * scale;
    log_worst = std::max(log_worst, error_in_ulps(portable_log(x), std::log((long double)x)));
    const double near_one = 0.7 + 0.8 * draws.unit_f64();
    log_worst =
        std::max(log_worst, error_in_ulps(portable_log(near_one), std::log((long double)near_one)));
    const double power = (draws.unit_f64() - 0.5) * (i % 2 == 0 ? 1400 : 1.4);
    exp_worst =
        std::max(exp_worst, error_in_ulps(portable_exp(power), std::exp((long double)power)));
  }
  INFO("log " << log_worst << ", exp " << exp_worst);
  CHECK(log_worst < 1);
  CHECK(exp_worst < 1);
  CHECK(portable_log(1) == 0);
  CHECK(portable_exp(0) == 1);
}

TEST_CASE("sine is within two units of the last place, or 2^-53 near its zeros") {
  bc::Draws draws({.seed = 4}, 0);
  double worst = 0;
  for (int i = 0; i < 200'000; ++i) {
    const double x = (draws.unit_f64() - 0.5) * (i % 2 == 0 ? 200 : 20);
    const long double truth = std::sin((long double)x);
    if (std::abs(portable_sin(x) - static_cast<double>(truth)) <= 0x1p-53) continue;
    worst = std::max(worst, error_in_ulps(portable_sin(x), truth));
  }
  INFO("sine " << worst);
  CHECK(worst < 2);
  CHECK(portable_sin(0) == 0);
}

TEST_CASE("functions of angles are the nearest doubles, those of right angles too") {
  bc::Draws draws({.seed = 5}, 0);
  double worst = 0;
  for (int i = 0; i < 20'000; ++i) {
    double x = (draws.unit_f64() - 0.5) * 130;
    if (i % 4 == 0) x = std::round(x) * 15 * (bc::detail::portable_pi / 180);
    const auto found = bc::detail::angle_functions(x);
    const auto exact = static_cast<long double>(x);
    worst = std::max({worst, error_in_ulps(found.sine, std::sin(exact)),
                      error_in_ulps(found.cosine, std::cos(exact)),
                      error_in_ulps(found.tangent, std::tan(exact)),
                      error_in_ulps(bc::detail::portable_atan(x), std::atan(exact))});
  }
  INFO("worst " << worst);
  CHECK(worst < 0.501);  // what long double adds
  CHECK(bc::detail::angle_functions(0).cosine == 1);
  CHECK(bc::detail::portable_atan(0) == 0);
}

TEST_CASE("rounding to 15 digits is Python's") {
  using bc::detail::round_to_15_digits;
  CHECK(round_to_15_digits(6.123233995736766e-17) == 0);
  CHECK(round_to_15_digits(0.49999999999999994) == 0.5);
  CHECK(round_to_15_digits(0.7071067811865476) == 0.707106781186548);
  CHECK(round_to_15_digits(-0.8660254037844386) == -0.866025403784439);
  CHECK(round_to_15_digits(1) == 1);
}

TEST_CASE("logarithm and exponential are pinned: other bits here change every stream") {
  CHECK(portable_log(0.75) == -0x1.269621134db92p-2);
  CHECK(portable_log(3) == 0x1.193ea7aad030ap+0);
  CHECK(portable_exp(1) == 0x1.5bf0a8b14576ap+1);
  CHECK(portable_exp(-0.2) == 0x1.a330ad6166159p-1);
}

TEST_CASE("rounding goes to the nearest, ties to even") {
  CHECK(round_half_even(0.5) == 0);
  CHECK(round_half_even(1.5) == 2);
  CHECK(round_half_even(2.5) == 2);
  CHECK(round_half_even(-0.5) == 0);
  CHECK(round_half_even(-1.5) == -2);
  CHECK(round_half_even(2.4999999999999996) == 2);
  CHECK(round_half_even(223.50000000000003) == 224);
}
