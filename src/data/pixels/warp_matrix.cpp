// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/pixels/warp_matrix.hpp"

#include "data/portable_math.hpp"

#include <cmath>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace {

// As Python has them.
double radians(double degrees) noexcept { return degrees * (portable_pi / 180.0); }
double degrees_of(double radians) noexcept { return radians * (180.0 / portable_pi); }

Point center_of(ImageSize size, const std::optional<Point>& center) noexcept {
  return center.value_or(Point{size.width * 0.5, size.height * 0.5});
}

using Equation = std::array<double, 9>;  // eight factors and what they sum up to
using Equations = std::array<Equation, 8>;

// Solves by elimination, the largest factor first.
void solve(Equations& equations) noexcept {
  for (std::size_t i = 0; i < equations.size(); ++i) {
    std::size_t best = i;
    for (std::size_t k = i; k < equations.size(); ++k) {
      if (std::abs(equations[k][i]) > std::abs(equations[best][i])) best = k;
    }
    std::swap(equations[i], equations[best]);
    for (std::size_t k = 0; k < equations.size(); ++k) {
      if (k == i) continue;
      const double factor = equations[k][i] / equations[i][i];
      for (std::size_t j = i; j < Equation().size(); ++j) {
        equations[k][j] -= factor * equations[i][j];
      }
    }
  }
}

bool any_three_on_a_line(const Corners& corners) noexcept {
  for (std::size_t i = 0; i < corners.size(); ++i) {
    const auto& a = corners[i];
    const auto& b = corners[(i + 1) % 4];
    const auto& c = corners[(i + 2) % 4];
    const auto side = [](std::int32_t from, std::int32_t to) { return std::int64_t{to} - from; };
    if (side(a[0], b[0]) * side(a[1], c[1]) == side(a[0], c[0]) * side(a[1], b[1])) return true;
  }
  return false;
}

}  // namespace

double within_a_turn(double degrees) noexcept {
  double rest = std::fmod(degrees, 360.0);  // exact
  if (rest == 0) return 0;
  if (rest < 0) rest += 360.0;
  return rest;
}

double shear_degrees(double magnitude) noexcept { return degrees_of(portable_atan(magnitude)); }

AffineMatrix rotation_matrix(ImageSize size, double degrees,
                             const std::optional<Point>& center) noexcept {
  const AngleFunctions angle = angle_functions(-radians(degrees));
  const double cosine = round_to_15_digits(angle.cosine);
  const double sine = round_to_15_digits(angle.sine);
  const auto [x, y] = center_of(size, center);
  return {cosine, sine, cosine * -x + sine * -y + x, -sine, cosine, -sine * -x + cosine * -y + y};
}

AffineMatrix affine_matrix(ImageSize size, const AffineParameters& parameters) noexcept {
  const double turn = radians(parameters.angle);
  const double sy = radians(parameters.shear[1]);
  const double tan_sx = angle_functions(radians(parameters.shear[0])).tangent;
  const double cos_sy = angle_functions(sy).cosine;
  const AngleFunctions turned = angle_functions(turn);
  const AngleFunctions sheared = angle_functions(turn - sy);
  const double a = sheared.cosine / cos_sy;
  const double b = -(a * tan_sx + turned.sine);
  const double c = sheared.sine / cos_sy;
  const double d = turned.cosine - c * tan_sx;
  const auto [x, y] = center_of(size, parameters.center);
  const double to_x = x + parameters.translate[0];
  const double to_y = y + parameters.translate[1];
  AffineMatrix matrix = {d / parameters.scale,  -b / parameters.scale, 0,
                         -c / parameters.scale, a / parameters.scale,  0};
  matrix[2] = x - matrix[0] * to_x - matrix[1] * to_y;
  matrix[5] = y - matrix[3] * to_x - matrix[4] * to_y;
  return matrix;
}

std::optional<PerspectiveMatrix> perspective_matrix(ImageSize size, const Corners& to) noexcept {
  const std::int32_t right = size.width - 1;
  const std::int32_t bottom = size.height - 1;
  const Corners from = {{{0, 0}, {right, 0}, {right, bottom}, {0, bottom}}};
  if (any_three_on_a_line(from) || any_three_on_a_line(to)) return std::nullopt;
  Equations equations{};
  for (std::size_t i = 0; i < from.size(); ++i) {
    const double x = to[i][0];
    const double y = to[i][1];
    const double u = from[i][0];
    const double v = from[i][1];
    equations[2 * i] = {x, y, 1, 0, 0, 0, -u * x, -u * y, u};
    equations[2 * i + 1] = {0, 0, 0, x, y, 1, -v * x, -v * y, v};
  }
  solve(equations);
  PerspectiveMatrix matrix{};
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    matrix[i] = static_cast<double>(static_cast<float>(equations[i][8] / equations[i][i]));
  }
  return matrix;
}

}  // namespace batchcast::inline v0_1::detail
