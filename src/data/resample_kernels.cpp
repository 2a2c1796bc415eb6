// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/resample_kernels.hpp"

#include <algorithm>
#include <cstring>

// Vectors whose length is unknown at compile time cannot be kept in arrays, which transposing
// needs.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "data/resample_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace batchcast::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR

void rows_to_columns(const HorizontalTile& tile) {
  for (std::size_t r = 0; r < tile_rows; ++r) {
    const std::uint8_t* const row = tile.rows + std::min(r, tile.row_count - 1) * tile.stride;
    for (std::size_t x = 0; x < tile.row_bytes; ++x) tile.columns[x * tile_rows + r] = row[x];
  }
}

void columns_to_rows(const HorizontalTile& tile) {
  for (std::size_t r = 0; r < tile.row_count; ++r) {
    for (std::size_t x = 0; x < tile.output_count * tile.channels; ++x) {
      tile.out[r][x] = tile.out_columns[x * tile_rows + r];
    }
  }
}

void split_channels(const std::uint8_t* rgb, std::size_t pixel_count, std::uint8_t* planes,
                    std::size_t plane_stride) {
  for (std::size_t x = 0; x < pixel_count; ++x) {
    for (std::size_t c = 0; c < 3; ++c) planes[x + c * plane_stride] = rgb[3 * x + c];
  }
}

#else

// Sixteen rows of sixteen bytes to sixteen columns: interleaving the halves four times.
template <class D, class Load, class Store>
HWY_INLINE void transpose_16(D d, const Load& load, const Store& store) {
  using V = hn::Vec<D>;
  V a[16];
  V b[16];
  for (std::size_t i = 0; i < 16; ++i) a[i] = load(i);
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
  for (std::size_t i = 0; i < 16; ++i) store(i, a[i]);
}

void rows_to_columns(const HorizontalTile& tile) {
  const hn::FixedTag<std::uint8_t, 16> d;
  std::array<const std::uint8_t*, tile_rows> rows;
  for (std::size_t r = 0; r < tile_rows; ++r) {
    rows[r] = tile.rows + std::min(r, tile.row_count - 1) * tile.stride;
  }
  const auto block = [&](std::size_t x) HWY_ATTR {
    transpose_16(
        d, [&](std::size_t r) HWY_ATTR { return hn::LoadU(d, rows[r] + x); },
        [&](std::size_t c, auto v)
            HWY_ATTR { hn::StoreU(v, d, tile.columns + (x + c) * tile_rows); });
  };
  if (tile.row_bytes < 16) {
    for (std::size_t x = 0; x < tile.row_bytes; ++x) {
      for (std::size_t r = 0; r < tile_rows; ++r) tile.columns[x * tile_rows + r] = rows[r][x];
    }
    return;
  }
  std::size_t x = 0;
  for (; x + 16 <= tile.row_bytes; x += 16) block(x);
  if (x < tile.row_bytes) block(tile.row_bytes - 16);
}

void columns_to_rows(const HorizontalTile& tile) {
  const hn::FixedTag<std::uint8_t, 16> d;
  for (std::size_t x = 0; x < tile.output_count * tile.channels; x += 16) {
    transpose_16(
        d,
        [&](std::size_t c)
            HWY_ATTR { return hn::LoadU(d, tile.out_columns + (x + c) * tile_rows); },
        [&](std::size_t r, auto v) HWY_ATTR { hn::StoreU(v, d, tile.out[r] + x); });
  }
}

void split_channels(const std::uint8_t* rgb, std::size_t pixel_count, std::uint8_t* planes,
                    std::size_t plane_stride) {
  const hn::FixedTag<std::uint8_t, 16> d;
  const auto block = [&](std::size_t x) HWY_ATTR {
    hn::Vec<decltype(d)> r;
    hn::Vec<decltype(d)> g;
    hn::Vec<decltype(d)> b;
    hn::LoadInterleaved3(d, rgb + 3 * x, r, g, b);
    hn::StoreU(r, d, planes + x);
    hn::StoreU(g, d, planes + x + plane_stride);
    hn::StoreU(b, d, planes + x + 2 * plane_stride);
  };
  std::size_t x = 0;
  if (pixel_count >= 16) {
    for (; x + 16 <= pixel_count; x += 16) block(x);
    if (x < pixel_count) block(pixel_count - 16);
    return;
  }
  for (; x < pixel_count; ++x) {
    for (std::size_t c = 0; c < 3; ++c) planes[x + c * plane_stride] = rgb[3 * x + c];
  }
}

#endif

// `channels` columns of output from `count` × `channels` columns of input.
template <std::size_t channels>
HWY_INLINE void weigh_columns(const std::uint8_t* in, const std::int32_t* weights,
                              std::size_t count, std::uint8_t* const* out) {
  const hn::CappedTag<std::int32_t, tile_rows> d32;
  const hn::Rebind<std::uint8_t, decltype(d32)> d8;
  constexpr std::size_t lanes = hn::MaxLanes(d32);
  constexpr std::size_t parts = tile_rows / lanes;
  using V = hn::Vec<decltype(d32)>;
  V sums[channels * parts];
  for (V& sum : sums) sum = hn::Set(d32, 1 << (weight_bits - 1));
  for (std::size_t t = 0; t < count; ++t) {
    const V weight = hn::Set(d32, weights[t]);
    for (std::size_t i = 0; i < channels * parts; ++i) {
      const V pixels = hn::PromoteTo(d32, hn::LoadU(d8, in + i * lanes));
      sums[i] = hn::Add(sums[i], hn::Mul(pixels, weight));
    }
    in += channels * tile_rows;
  }
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t p = 0; p < parts; ++p) {
      const V sum = hn::ShiftRight<weight_bits>(sums[c * parts + p]);
      hn::StoreU(hn::DemoteTo(d8, sum), d8, out[c] + p * lanes);
    }
  }
}

template <std::size_t channels>
HWY_INLINE void weigh_tile(const HorizontalTile& tile) {
  const std::size_t step = (tile.planar ? 1 : channels) * tile_rows;
  const std::size_t plane = (tile.planar ? tile.output_count : 1) * tile_rows;
  for (std::size_t o = 0; o < tile.output_count; ++o) {
    const Taps& taps = tile.taps[o];
    const auto from = static_cast<std::size_t>(taps.first - tile.first_input);
    const std::size_t to = tile.mirrored ? tile.output_count - 1 - o : o;
    std::uint8_t* out[channels];
    for (std::size_t c = 0; c < channels; ++c) out[c] = tile.out_columns + to * step + c * plane;
    weigh_columns<channels>(tile.columns + from * channels * tile_rows, tile.weights + taps.weights,
                            static_cast<std::size_t>(taps.count), out);
  }
}

void horizontal(const HorizontalTile& tile) {
  rows_to_columns(tile);
  tile.channels == 3 ? weigh_tile<3>(tile) : weigh_tile<1>(tile);
  columns_to_rows(tile);
}

void vertical(const std::uint8_t* const* rows, const std::int32_t* weights, std::size_t tap_count,
              std::uint8_t* out, std::size_t byte_count) {
  const hn::CappedTag<std::int32_t, 16> d32;
  const hn::Rebind<std::uint8_t, decltype(d32)> d8;
  constexpr std::size_t lanes = hn::MaxLanes(d32);
  constexpr std::size_t parts = 4;
  using V = hn::Vec<decltype(d32)>;
  for (std::size_t x = 0; x < byte_count; x += parts * lanes) {
    V sums[parts];
    for (V& sum : sums) sum = hn::Set(d32, 1 << (weight_bits - 1));
    for (std::size_t t = 0; t < tap_count; ++t) {
      const V weight = hn::Set(d32, weights[t]);
      for (std::size_t p = 0; p < parts; ++p) {
        const V pixels = hn::PromoteTo(d32, hn::LoadU(d8, rows[t] + x + p * lanes));
        sums[p] = hn::Add(sums[p], hn::Mul(pixels, weight));
      }
    }
    for (std::size_t p = 0; p < parts; ++p) {
      hn::StoreU(hn::DemoteTo(d8, hn::ShiftRight<weight_bits>(sums[p])), d8, out + x + p * lanes);
    }
  }
}

// To nearest even. Integers, not the machine's own conversion: not all of them have one.
template <class D32>
HWY_INLINE hn::Vec<hn::RebindToUnsigned<D32>> half_bits(D32 d32, hn::Vec<D32> value) {
  const hn::RebindToUnsigned<D32> du;
  const auto bits = hn::BitCast(du, value);
  const auto sign = hn::And(bits, hn::Set(du, 0x80000000u));
  const auto size = hn::Xor(bits, sign);
  const auto odd = hn::And(hn::ShiftRight<13>(size), hn::Set(du, 1));
  const auto rounded = hn::Add(size, hn::Add(odd, hn::Set(du, 0xFFF)));
  auto half = hn::ShiftRight<13>(hn::Sub(rounded, hn::Set(du, 0x38000000u)));
  half = hn::Min(half, hn::Set(du, 0x7C00));
  // Adding 0.5 leaves the 24 bits behind the point that a subnormal has.
  const auto shifted = hn::Add(hn::BitCast(d32, size), hn::Set(d32, 0.5f));
  const auto subnormal = hn::Sub(hn::BitCast(du, shifted), hn::Set(du, 0x3F000000u));
  const hn::RebindToSigned<D32> di;
  const auto size_i = hn::BitCast(di, size);
  const auto is_subnormal = hn::Lt(size_i, hn::Set(di, 0x38800000));
  const auto is_nan = hn::Gt(size_i, hn::Set(di, 0x7F800000));
  half = hn::IfThenElse(hn::RebindMask(du, is_subnormal), subnormal, half);
  half = hn::IfThenElse(hn::RebindMask(du, is_nan), hn::Set(du, 0x7E00), half);
  return hn::Or(half, hn::ShiftRight<16>(sign));
}

template <class D32>
HWY_INLINE hn::Vec<hn::RebindToUnsigned<D32>> bfloat_bits(D32, hn::Vec<D32> value) {
  const hn::RebindToUnsigned<D32> du;
  const hn::RebindToSigned<D32> di;
  const auto bits = hn::BitCast(du, value);
  const auto high = hn::ShiftRight<16>(bits);
  const auto odd = hn::And(high, hn::Set(du, 1));
  const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7FFF))));
  const auto size = hn::BitCast(di, hn::And(bits, hn::Set(du, 0x7FFFFFFFu)));
  const auto is_nan = hn::Gt(size, hn::Set(di, 0x7F800000));
  return hn::IfThenElse(hn::RebindMask(du, is_nan), hn::Or(high, hn::Set(du, 0x40)), rounded);
}

struct AsFloat {
  using Element = float;
  template <class D32>
  HWY_INLINE void operator()(D32 d32, hn::Vec<D32> value, float* out) const {
    hn::StoreU(value, d32, out);
  }
};
struct AsHalf {
  using Element = std::uint16_t;
  template <class D32>
  HWY_INLINE void operator()(D32 d32, hn::Vec<D32> value, std::uint16_t* out) const {
    const hn::Rebind<std::uint16_t, D32> d16;
    const hn::RebindToSigned<D32> di;
    hn::StoreU(hn::DemoteTo(d16, hn::BitCast(di, half_bits(d32, value))), d16, out);
  }
};
struct AsBfloat {
  using Element = std::uint16_t;
  template <class D32>
  HWY_INLINE void operator()(D32 d32, hn::Vec<D32> value, std::uint16_t* out) const {
    const hn::Rebind<std::uint16_t, D32> d16;
    const hn::RebindToSigned<D32> di;
    hn::StoreU(hn::DemoteTo(d16, hn::BitCast(di, bfloat_bits(d32, value))), d16, out);
  }
};

template <class As>
HWY_INLINE void store_as(const As& as, const std::uint8_t* in, std::size_t count,
                         const AffinePattern& pattern, std::byte* out_bytes) {
  using Element = typename As::Element;
  auto* const out = reinterpret_cast<Element*>(out_bytes);
  const hn::CappedTag<float, 16> d32;
  const hn::RebindToSigned<decltype(d32)> di;
  const hn::Rebind<std::uint8_t, decltype(d32)> d8;
  constexpr std::size_t lanes = hn::MaxLanes(d32);
  const auto block = [&](const std::uint8_t* from, std::size_t phase, Element* to) HWY_ATTR {
    const auto pixels = hn::ConvertTo(d32, hn::PromoteTo(di, hn::LoadU(d8, from)));
    const auto scaled = hn::Mul(pixels, hn::LoadU(d32, pattern.scale.data() + phase));
    as(d32, hn::Add(scaled, hn::LoadU(d32, pattern.bias.data() + phase)), to);
  };
  std::size_t x = 0;
  std::size_t phase = 0;
  for (; x + lanes <= count; x += lanes) {
    block(in + x, phase, out + x);
    phase = (phase + lanes) % AffinePattern::period;
  }
  if (x == count) return;
  if (count >= lanes) {
    x = count - lanes;
    block(in + x, x % AffinePattern::period, out + x);
    return;
  }
  std::uint8_t few[lanes] = {};
  Element made[lanes];
  std::memcpy(few, in, count);
  block(few, 0, made);
  std::memcpy(out, made, count * sizeof(Element));
}

void store_f32(const std::uint8_t* in, std::size_t count, const AffinePattern& pattern,
               std::byte* out) {
  store_as(AsFloat{}, in, count, pattern, out);
}
void store_f16(const std::uint8_t* in, std::size_t count, const AffinePattern& pattern,
               std::byte* out) {
  store_as(AsHalf{}, in, count, pattern, out);
}
void store_bf16(const std::uint8_t* in, std::size_t count, const AffinePattern& pattern,
                std::byte* out) {
  store_as(AsBfloat{}, in, count, pattern, out);
}

}  // namespace batchcast::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace batchcast::detail {

HWY_EXPORT(horizontal);
HWY_EXPORT(vertical);
HWY_EXPORT(split_channels);
HWY_EXPORT(store_f32);
HWY_EXPORT(store_f16);
HWY_EXPORT(store_bf16);

void resample_horizontally(const HorizontalTile& tile) { HWY_DYNAMIC_DISPATCH(horizontal)(tile); }

void resample_vertically(const std::uint8_t* const* rows, const std::int32_t* weights,
                         std::size_t tap_count, std::uint8_t* out, std::size_t byte_count) {
  HWY_DYNAMIC_DISPATCH(vertical)(rows, weights, tap_count, out, byte_count);
}

void deinterleave(const std::uint8_t* rgb, std::size_t pixel_count, std::uint8_t* planes,
                  std::size_t plane_stride) {
  HWY_DYNAMIC_DISPATCH(split_channels)(rgb, pixel_count, planes, plane_stride);
}

void mirror(const std::uint8_t* pixels, std::size_t pixel_count, std::size_t channels, bool planar,
            std::uint8_t* out) {
  const std::size_t step = planar ? 1 : channels;
  const std::size_t plane = planar ? pixel_count : 1;
  for (std::size_t x = 0; x < pixel_count; ++x) {
    const std::uint8_t* const from = pixels + (pixel_count - 1 - x) * channels;
    for (std::size_t c = 0; c < channels; ++c) out[x * step + c * plane] = from[c];
  }
}

void store_elements(const std::uint8_t* in, std::size_t count, const AffinePattern& pattern,
                    DType dtype, std::byte* out) {
  switch (dtype) {
    case DType::f16:
      HWY_DYNAMIC_DISPATCH(store_f16)(in, count, pattern, out);
      break;
    case DType::bf16:
      HWY_DYNAMIC_DISPATCH(store_bf16)(in, count, pattern, out);
      break;
    default:
      HWY_DYNAMIC_DISPATCH(store_f32)(in, count, pattern, out);
      break;
  }
}

std::vector<std::int64_t> simd_levels() { return hwy::SupportedAndGeneratedTargets(); }
std::string_view simd_level_name(std::int64_t level) { return hwy::TargetName(level); }
void force_simd_level(std::int64_t level) { hwy::SetSupportedTargetsForTest(level); }

}  // namespace batchcast::detail
#endif
