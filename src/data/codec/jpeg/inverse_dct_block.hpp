// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstddef>
#include <cstdint>

namespace batchcast::inline v0_1::detail {

/// The inverse DCT of jpeg_inverse_dct() without SIMD, one block.
///
/// After Loeffler, Ligtenberg and Moschytz, "Practical fast 1-D DCT algorithms with 11
/// multiplications" (1989), with constants of 13 bits. Sums of 16 bits wrap. What the first pass
/// hands to the second saturates; where all rows but the first are zero, it wraps.
void inverse_dct_block(const std::int16_t* block, std::uint8_t* out, std::size_t stride);

}  // namespace batchcast::inline v0_1::detail
