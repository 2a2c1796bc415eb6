// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/resample/kernels.hpp"

#include <algorithm>
#include <cstring>

// Vectors whose length is unknown at compile time cannot be kept in arrays.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "data/resample/vertical.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "data/resample/elements-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace batchcast::inline v0_1::detail::HWY_NAMESPACE {

// How the sums of the vertical pass become elements.
struct ToPixels {
  using Element = std::uint8_t;
  HWY_INLINE void operator()(VI sum, Element* out) const {
    const hn::Rebind<std::uint8_t, DI> d8;
    hn::StoreU(hn::DemoteTo(d8, hn::ShiftRight<weight_bits>(sum)), d8, out);
  }
};
template <class As>
struct ToElements {
  using Element = typename As::Element;
  VF scale;
  VF bias;
  HWY_INLINE void operator()(VI sum, Element* out) const {
    const DF df;
    const VF pixels = hn::ConvertTo(df, hn::ShiftRight<weight_bits>(sum));
    As()(hn::Add(hn::Mul(pixels, scale), bias), out);
  }
};

// Makes `parts` vectors from byte x on, from `fixed` taps or, where that is 0, all of the row.
template <std::size_t parts, std::size_t fixed, class Sink>
HWY_INLINE void make_part(const VerticalRow& row, std::size_t x, const Sink& sink,
                          typename Sink::Element* out) {
  const DI di;
  const hn::Rebind<std::uint8_t, DI> d8;
  constexpr std::size_t lanes = hn::MaxLanes(DI());
  const std::size_t count = fixed != 0 ? fixed : row.tap_count;
  VI sums[parts];
  for (VI& sum : sums) sum = hn::Set(di, 1 << (weight_bits - 1));
  for (std::size_t t = 0; t < count; ++t) {
    const VI weight = hn::Set(di, row.weights[t]);
    const std::uint8_t* const in = row.rows[t] + row.first + x;
    for (std::size_t p = 0; p < parts; ++p) {
      const VI pixels = hn::PromoteTo(di, hn::LoadU(d8, in + p * lanes));
      sums[p] = hn::Add(sums[p], hn::Mul(pixels, weight));
    }
  }
  for (std::size_t p = 0; p < parts; ++p) {
    // Sums can exceed white or fall below black only through rounding of very many weights, or
    // weights below zero.
    if constexpr (fixed == 0) {
      sums[p] = hn::Max(hn::Min(sums[p], hn::Set(di, (1 << (weight_bits + 8)) - 1)), hn::Zero(di));
    }
    sink(sums[p], out + x + p * lanes);
  }
}

template <std::size_t fixed, class Sink>
HWY_INLINE void make_row(const VerticalRow& row, const Sink& sink, typename Sink::Element* out) {
  constexpr std::size_t lanes = hn::MaxLanes(DI());
  constexpr std::size_t parts = 4;
  std::size_t x = 0;
  for (; x + parts * lanes <= row.count; x += parts * lanes) {
    make_part<parts, fixed>(row, x, sink, out);
  }
  for (; x + lanes <= row.count; x += lanes) make_part<1, fixed>(row, x, sink, out);
  if (x == row.count) return;
  if (row.count >= lanes) {
    make_part<1, fixed>(row, row.count - lanes, sink, out);
    return;
  }
  typename Sink::Element made[lanes];
  alignas(64) std::int32_t sums[lanes] = {};
  for (x = 0; x < row.count; ++x) {
    std::int64_t sum = 1 << (weight_bits - 1);
    for (std::size_t t = 0; t < row.tap_count; ++t) {
      sum += std::int64_t{row.weights[t]} * row.rows[t][row.first + x];
    }
    sums[x] =
        static_cast<std::int32_t>(std::clamp<std::int64_t>(sum, 0, (1 << (weight_bits + 8)) - 1));
  }
  sink(hn::Load(DI(), sums), made);
  std::memcpy(out, made, row.count * sizeof(made[0]));
}

template <class Sink>
HWY_INLINE void make_row_of(const VerticalRow& row, const Sink& sink, typename Sink::Element* out) {
  switch (row.overshoots && row.tap_count > 1 ? 0 : row.tap_count) {
    case 1:
      make_row<1>(row, sink, out);
      break;
    case 2:
      make_row<2>(row, sink, out);
      break;
    case 3:
      make_row<3>(row, sink, out);
      break;
    case 4:
      make_row<4>(row, sink, out);
      break;
    default:
      make_row<0>(row, sink, out);
      break;
  }
}

void vertical(const VerticalRow& row, std::uint8_t* out) { make_row_of(row, ToPixels{}, out); }

template <class As>
HWY_INLINE void vertical_as(const VerticalRow& row, const ElementPlanes& planes) {
  VerticalRow plane = row;
  for (std::size_t c = 0; c < planes.count; ++c) {
    const ToElements<As> sink{hn::Set(DF(), planes.scale[c]), hn::Set(DF(), planes.bias[c])};
    make_row_of(plane, sink,
                reinterpret_cast<typename As::Element*>(planes.out + c * planes.stride));
    plane.first += plane.count;
  }
}
// A ring is larger than the caches: caching these stores would only drive out what is still needed.
// Only rows of whole cache lines go this way, since such stores are slow at parts of lines.
void vertical_f32(const VerticalRow& row, const ElementPlanes& planes) {
  constexpr std::size_t line_bytes = 64;
  const std::size_t row_bytes = row.count * sizeof(float);
  const auto begin = reinterpret_cast<std::uintptr_t>(planes.out);
  if ((begin | planes.stride | row_bytes) % line_bytes == 0) {
    vertical_as<AsFloatPastCaches>(row, planes);
  } else {
    vertical_as<AsFloat>(row, planes);
  }
}
void vertical_f16(const VerticalRow& row, const ElementPlanes& planes) {
  vertical_as<AsHalf>(row, planes);
}
void vertical_bf16(const VerticalRow& row, const ElementPlanes& planes) {
  vertical_as<AsBfloat>(row, planes);
}

}  // namespace batchcast::inline v0_1::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace batchcast::inline v0_1::detail {

HWY_EXPORT(vertical);
HWY_EXPORT(vertical_f32);
HWY_EXPORT(vertical_f16);
HWY_EXPORT(vertical_bf16);

void resample_vertically(const VerticalRow& row, std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(vertical)(row, out);
}

void resample_vertically(const VerticalRow& row, const ElementPlanes& planes) {
  switch (planes.dtype) {
    case DType::f16:
      HWY_DYNAMIC_DISPATCH(vertical_f16)(row, planes);
      break;
    case DType::bf16:
      HWY_DYNAMIC_DISPATCH(vertical_bf16)(row, planes);
      break;
    default:
      HWY_DYNAMIC_DISPATCH(vertical_f32)(row, planes);
      break;
  }
}

void finish_stores_past_caches() { hwy::FlushStream(); }

}  // namespace batchcast::inline v0_1::detail
#endif
