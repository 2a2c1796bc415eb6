// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace batchcast::inline v0_1::detail {

/// The DCT of jpeg_quantised_dct() without SIMD, one block, before coefficients are divided: they
/// are eight times as large. Samples count from 128.
///
/// After Loeffler, Ligtenberg and Moschytz, as inverse_dct_block(), with constants of 13 bits. The
/// pass along rows keeps two more bits.
[[nodiscard]] std::array<std::int16_t, 64> forward_dct_block(const std::uint8_t* samples,
                                                             std::size_t stride);

}  // namespace batchcast::inline v0_1::detail
