// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstddef>
#include <cstdint>

// Loops over rows of levels, at the best SIMD level of this machine; every level gives the same
// bytes. They touch nothing beyond a row.
namespace batchcast::inline v0_1::detail {

/// out[i] = from[i] + factor × (to[i] − from[i]), as PIL blends: in single precision, product and
/// sum rounded, cut off towards 0. `out` may be `to`.
void blend_rows(const std::uint8_t* from, const std::uint8_t* to, std::size_t count, float factor,
                std::uint8_t* out);

/// Three rows, and the bytes from a pixel to the next.
struct SmoothRows {
  const std::uint8_t* above = nullptr;
  const std::uint8_t* row = nullptr;
  const std::uint8_t* below = nullptr;
  std::size_t step = 1;
};
/// PIL's filter SMOOTH of the bytes [step, step + count): a thirteenth of the eight neighbours and
/// five times the byte itself. It reads one step further to either side.
void smooth_row(const SmoothRows& rows, std::size_t count, std::uint8_t* out);

/// PIL's mode L of three planes.
void luma_of_planes(const std::uint8_t* const* planes, std::size_t count, std::uint8_t* out);

}  // namespace batchcast::inline v0_1::detail
