// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/resample/kernels.hpp"

#include <algorithm>
#include <array>

// Vectors of unknown length cannot be kept in arrays, which transposing needs.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "data/resample/horizontal.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h
#include <hwy/highway.h>

// Rows first become columns of tile_rows bytes. Then the lanes of a vector are rows, which share an
// output's taps, and no gather is needed.
HWY_BEFORE_NAMESPACE();
namespace batchcast::inline v0_1::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR

void horizontal(const HorizontalTile& tile) {
  for (std::size_t o = 0; o < tile.output_count; ++o) {
    const AxisTaps& axis = *tile.axis;
    const Taps& taps = axis.taps[static_cast<std::size_t>(tile.first_output) + o];
    const std::int32_t* const weights = axis.weights_of(taps);
    const auto from = static_cast<std::size_t>(taps.first - tile.first_input);
    const std::size_t to = tile.mirrored ? tile.output_count - 1 - o : o;
    for (std::size_t r = 0; r < tile.row_count; ++r) {
      for (std::size_t c = 0; c < tile.channels; ++c) {
        const std::uint8_t* in = tile.rows + r * tile.stride + from * tile.channels + c;
        std::int32_t sum = 1 << (weight_bits - 1);
        for (std::int32_t t = 0; t < taps.count; ++t, in += tile.channels) sum += *in * weights[t];
        tile.out[r][c * tile.output_count + to] =
            static_cast<std::uint8_t>(std::clamp(sum >> weight_bits, 0, 255));
      }
    }
  }
}

#else

// Stores block b of 16 bytes at `out` + b × step.
template <class D>
HWY_INLINE void store_blocks(D d, hn::Vec<D> v, std::uint8_t* out, std::size_t step) {
  if constexpr (hn::MaxLanes(D()) <= 16) {
    hn::StoreU(v, d, out);
  } else {
    const hn::Half<D> half;
    store_blocks(half, hn::LowerHalf(half, v), out, step);
    store_blocks(half, hn::UpperHalf(half, v), out + hn::Lanes(half) / 16 * step, step);
  }
}

using RowPointers = std::array<const std::uint8_t*, tile_rows>;

// Loads sixteen bytes, or a multiple, of each row from x on, and interleaves the halves four times.
template <class D>
HWY_INLINE void transpose(D d, const RowPointers& rows, std::size_t x, std::uint8_t* columns) {
  using V = hn::Vec<D>;
  V a[tile_rows];
  V b[tile_rows];
  for (std::size_t i = 0; i < 16; ++i) a[i] = hn::LoadU(d, rows[i] + x);
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = 0; i < 8; ++i) {
      b[2 * i] = hn::InterleaveLower(d, a[i], a[i + 8]);
      b[2 * i + 1] = hn::InterleaveUpper(d, a[i], a[i + 8]);
    }
    for (std::size_t i = 0; i < 8; ++i) {
      a[2 * i] = hn::InterleaveLower(d, b[i], b[i + 8]);
      a[2 * i + 1] = hn::InterleaveUpper(d, b[i], b[i + 8]);
    }
  }
  for (std::size_t i = 0; i < 16; ++i) {
    store_blocks(d, a[i], columns + (x + i) * tile_rows, 16 * tile_rows);
  }
}

HWY_INLINE void rows_to_columns(const HorizontalTile& tile) {
  const hn::ScalableTag<std::uint8_t> d;
  const hn::FixedTag<std::uint8_t, 16> d16;
  RowPointers rows;
  for (std::size_t r = 0; r < tile_rows; ++r) {
    rows[r] = tile.rows + std::min(r, tile.row_count - 1) * tile.stride;
  }
  const std::size_t end = tile.row_bytes;
  std::size_t x = 0;
  for (; x + hn::Lanes(d) <= end; x += hn::Lanes(d)) transpose(d, rows, x, tile.columns);
  for (; x + 16 <= end; x += 16) transpose(d16, rows, x, tile.columns);
  if (x == end) return;
  if (end >= 16) {
    transpose(d16, rows, end - 16, tile.columns);
    return;
  }
  for (; x < end; ++x) {
    for (std::size_t r = 0; r < tile_rows; ++r) tile.columns[x * tile_rows + r] = rows[r][x];
  }
}

using D32 = hn::CappedTag<std::int32_t, tile_rows>;
using V32 = hn::Vec<D32>;

// The sums of one output pixel for as many rows as lanes, one vector for each channel. There are
// `fixed` taps, or `tap_count` where that is 0.
template <std::size_t channels, std::size_t fixed>
HWY_INLINE void weigh(const std::uint8_t* in, const std::int32_t* weights, std::size_t tap_count,
                      V32* sums) {
  const D32 d32;
  const hn::Rebind<std::uint8_t, D32> d8;
  const std::size_t count = fixed != 0 ? fixed : tap_count;
  for (std::size_t c = 0; c < channels; ++c) sums[c] = hn::Set(d32, 1 << (weight_bits - 1));
  for (std::size_t t = 0; t < count; ++t) {
    const V32 weight = hn::Set(d32, weights[t]);
    for (std::size_t c = 0; c < channels; ++c) {
      const V32 pixels = hn::PromoteTo(d32, hn::LoadU(d8, in + c * tile_rows));
      sums[c] = hn::Add(sums[c], hn::Mul(pixels, weight));
    }
    in += channels * tile_rows;
  }
  // Sums can exceed white or fall below black only through rounding of very many weights, or
  // weights below zero.
  if constexpr (fixed == 0) {
    for (std::size_t c = 0; c < channels; ++c) {
      sums[c] =
          hn::Max(hn::Min(sums[c], hn::Set(d32, (1 << (weight_bits + 8)) - 1)), hn::Zero(d32));
    }
  }
}

// Four pixels' bytes from the tops of their sums, side by side in each lane.
HWY_INLINE V32 packed(V32 a, V32 b, V32 c, V32 d) {
  const D32 d32;
  V32 all = hn::ShiftRight<weight_bits>(a);
  all = hn::OrAnd(all, hn::ShiftRight<weight_bits - 8>(b), hn::Set(d32, 0xFF00));
  all = hn::OrAnd(all, hn::ShiftRight<weight_bits - 16>(c), hn::Set(d32, 0xFF0000));
  return hn::OrAnd(all, hn::ShiftLeft<24 - weight_bits>(d), hn::Set(d32, ~0xFFFFFF));
}

// Stores four vectors of packed pixels: sixteen bytes of each of their rows.
HWY_INLINE void store_rows(const V32* v, std::uint8_t* const* out, std::size_t x) {
  const D32 d32;
  const hn::Repartition<std::int64_t, D32> d64;
  const hn::Repartition<std::uint8_t, D32> d8;
  const auto low_a = hn::BitCast(d64, hn::InterleaveLower(d32, v[0], v[1]));
  const auto low_b = hn::BitCast(d64, hn::InterleaveLower(d32, v[2], v[3]));
  const auto high_a = hn::BitCast(d64, hn::InterleaveUpper(d32, v[0], v[1]));
  const auto high_b = hn::BitCast(d64, hn::InterleaveUpper(d32, v[2], v[3]));
  using V64 = hn::Vec<decltype(d64)>;
  const V64 rows[4] = {
      hn::InterleaveLower(d64, low_a, low_b), hn::InterleaveUpper(d64, low_a, low_b),
      hn::InterleaveLower(d64, high_a, high_b), hn::InterleaveUpper(d64, high_a, high_b)};
  constexpr std::size_t blocks = hn::MaxLanes(D32()) / 4;
  for (std::size_t i = 0; i < 4; ++i) {
    alignas(64) std::uint8_t bytes[16 * blocks];
    hn::Store(hn::BitCast(d8, rows[i]), d8, bytes);
    for (std::size_t b = 0; b < blocks; ++b) {
      const hn::FixedTag<std::uint8_t, 16> d16;
      hn::StoreU(hn::Load(d16, bytes + 16 * b), d16, out[4 * b + i] + x);
    }
  }
}

template <std::size_t channels, std::size_t fixed>
void weigh_tile(const HorizontalTile& tile) {
  constexpr std::size_t lanes = hn::MaxLanes(D32());
  const AxisTaps& axis = *tile.axis;
  const auto tap_count = static_cast<std::size_t>(axis.taps_max);
  const Taps* const taps = axis.taps.data() + tile.first_output;
  const std::size_t last = tile.output_count - 1;
  for (std::size_t begin = 0; begin < tile.output_count; begin += 16) {
    // The last sixteen end where the row does. Fewer run into the next channel, which comes after.
    const std::size_t x = tile.output_count < 16 ? 0 : std::min(begin, tile.output_count - 16);
    for (std::size_t r = 0; r < tile_rows; r += lanes) {
      V32 made[channels][4];
      for (std::size_t quarter = 0; quarter < 4; ++quarter) {
        V32 sums[4][channels];
        for (std::size_t i = 0; i < 4; ++i) {
          const std::size_t place = std::min(x + 4 * quarter + i, last);
          const Taps& t = taps[tile.mirrored ? last - place : place];
          const auto from = static_cast<std::size_t>(t.first - tile.first_input);
          weigh<channels, fixed>(tile.columns + from * channels * tile_rows + r, axis.weights_of(t),
                                 tap_count, sums[i]);
        }
        for (std::size_t c = 0; c < channels; ++c) {
          made[c][quarter] = packed(sums[0][c], sums[1][c], sums[2][c], sums[3][c]);
        }
      }
      for (std::size_t c = 0; c < channels; ++c) {
        store_rows(made[c], tile.out.data() + r, c * tile.output_count + x);
      }
    }
  }
}

template <std::size_t channels>
HWY_INLINE void weigh_tile_of(const HorizontalTile& tile) {
  switch (tile.axis->overshoots ? 0 : tile.axis->taps_max) {
    case 2:
      weigh_tile<channels, 2>(tile);
      break;
    case 3:
      weigh_tile<channels, 3>(tile);
      break;
    case 4:
      weigh_tile<channels, 4>(tile);
      break;
    default:
      weigh_tile<channels, 0>(tile);
      break;
  }
}

void horizontal(const HorizontalTile& tile) {
  rows_to_columns(tile);
  if (tile.channels == 3) {
    weigh_tile_of<3>(tile);
  } else {
    weigh_tile_of<1>(tile);
  }
}

#endif

}  // namespace batchcast::inline v0_1::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace batchcast::inline v0_1::detail {

HWY_EXPORT(horizontal);

void resample_horizontally(const HorizontalTile& tile) { HWY_DYNAMIC_DISPATCH(horizontal)(tile); }

std::vector<std::int64_t> simd_levels() { return hwy::SupportedAndGeneratedTargets(); }
std::string_view simd_level_name(std::int64_t level) { return hwy::TargetName(level); }
void force_simd_level(std::int64_t level) { hwy::SetSupportedTargetsForTest(level); }

}  // namespace batchcast::inline v0_1::detail
#endif
