// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

// Floats to elements, once for each SIMD level that includes this.
#if defined(BATCHCAST_RESAMPLE_ELEMENTS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef BATCHCAST_RESAMPLE_ELEMENTS_INL
#undef BATCHCAST_RESAMPLE_ELEMENTS_INL
#else
#define BATCHCAST_RESAMPLE_ELEMENTS_INL
#endif

#include <hwy/highway.h>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace batchcast::inline v0_1::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// At most sixteen, so that patterns of a fixed length suffice.
using DF = hn::CappedTag<float, 16>;
using DI = hn::RebindToSigned<DF>;
using DU = hn::RebindToUnsigned<DF>;
using VF = hn::Vec<DF>;
using VI = hn::Vec<DI>;
using VU = hn::Vec<DU>;

HWY_INLINE VU select(hn::Mask<DI> mask, VU yes, VU no) {
  return hn::IfThenElse(hn::RebindMask(DU(), mask), yes, no);
}

// Rounds to nearest even. It uses integers, since not every machine has an instruction for it.
HWY_INLINE VU half_bits(VF value) {
  const DF df;
  const DI di;
  const DU du;
  const VU bits = hn::BitCast(du, value);
  const VU size = hn::And(bits, hn::Set(du, 0x7FFFFFFFu));
  const VU odd = hn::And(hn::ShiftRight<13>(size), hn::Set(du, 1));
  const VU rounded = hn::Add(size, hn::Add(odd, hn::Set(du, 0xFFF)));
  VU half = hn::ShiftRight<13>(hn::Sub(rounded, hn::Set(du, 0x38000000u)));
  // Adding 0.5 leaves the 24 bits after the point that a subnormal has.
  const VF shifted = hn::Add(hn::BitCast(df, size), hn::Set(df, 0.5f));
  const VU subnormal = hn::Sub(hn::BitCast(du, shifted), hn::Set(du, 0x3F000000u));
  const VI order = hn::BitCast(di, size);
  half = select(hn::Lt(order, hn::Set(di, 0x38800000)), subnormal, half);
  half = select(hn::Gt(order, hn::Set(di, 0x477FEFFF)), hn::Set(du, 0x7C00), half);
  half = select(hn::Gt(order, hn::Set(di, 0x7F800000)), hn::Set(du, 0x7E00), half);
  return hn::Or(half, hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 0x8000)));
}

HWY_INLINE VU bfloat_bits(VF value) {
  const DI di;
  const DU du;
  const VU bits = hn::BitCast(du, value);
  const VU high = hn::ShiftRight<16>(bits);
  const VU odd = hn::And(high, hn::Set(du, 1));
  const VU rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7FFF))));
  const VI order = hn::BitCast(di, hn::And(bits, hn::Set(du, 0x7FFFFFFFu)));
  const VU nan = hn::Or(high, hn::Set(du, 0x40));
  return select(hn::Gt(order, hn::Set(di, 0x7F800000)), nan, rounded);
}

HWY_INLINE void store_16_bits(VU bits, std::uint16_t* out) {
  const hn::Rebind<std::uint16_t, DI> d16;
  hn::StoreU(hn::DemoteTo(d16, hn::BitCast(DI(), bits)), d16, out);
}

struct AsFloat {
  using Element = float;
  HWY_INLINE void operator()(VF value, float* out) const { hn::StoreU(value, DF(), out); }
};
// Stores past the caches: whole lines are written and not read again here. `out` is aligned.
struct AsFloatPastCaches {
  using Element = float;
  HWY_INLINE void operator()(VF value, float* out) const { hn::Stream(value, DF(), out); }
};
struct AsHalf {
  using Element = std::uint16_t;
  HWY_INLINE void operator()(VF value, std::uint16_t* out) const {
    store_16_bits(half_bits(value), out);
  }
};
struct AsBfloat {
  using Element = std::uint16_t;
  HWY_INLINE void operator()(VF value, std::uint16_t* out) const {
    store_16_bits(bfloat_bits(value), out);
  }
};

}  // namespace batchcast::inline v0_1::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
