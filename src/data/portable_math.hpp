// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

// Functions whose last bits differ between implementations of libm. These use only operations that
// are exact or rounded once: they give the same bits on every machine.
namespace batchcast::inline v0_1::detail {

/// Natural logarithm within one unit of the last place. `x` is normal, finite and above 0.
[[nodiscard]] double portable_log(double x) noexcept;

/// e to the power of `x` within one unit of the last place. `x` lies from -700 to 700.
[[nodiscard]] double portable_exp(double x) noexcept;

inline constexpr double portable_pi = 0x1.921fb54442d18p1;

/// Sine within two units of the last place, or 2^-53 where it is nearly 0. |x| is at most 100.
[[nodiscard]] double portable_sin(double x) noexcept;

/// Sine, cosine and tangent, each the nearest double but for one in many millions. The results of
/// warps for right and half angles show in pixels. |x| is at most 1e5.
struct AngleFunctions {
  double sine = 0;
  double cosine = 1;
  double tangent = 0;
};
[[nodiscard]] AngleFunctions angle_functions(double x) noexcept;

/// Arc tangent, the nearest double as well. |x| is at most 1e5.
[[nodiscard]] double portable_atan(double x) noexcept;

/// Rounds to 15 digits after the point, as Python's round(x, 15). |x| is at most 1.
[[nodiscard]] double round_to_15_digits(double x) noexcept;

/// Rounds to the nearest whole number, ties to even, as Python's round(). |x| is below 2^51.
[[nodiscard]] inline double round_half_even(double x) noexcept {
  // At this size the unit of the last place is 1, and adding rounds to it.
  constexpr double shift = 0x1.8p52;
  return (x + shift) - shift;
}

}  // namespace batchcast::inline v0_1::detail
