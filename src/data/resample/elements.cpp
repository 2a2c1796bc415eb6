// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/resample/kernels.hpp"

#include <cstring>

// Vectors whose length is unknown at compile time are not what patterns are made for.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "data/resample/elements.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h
#include <hwy/highway.h>

#include "data/resample/elements-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace batchcast::inline v0_1::detail::HWY_NAMESPACE {

template <class As>
HWY_INLINE void store_as(const std::uint8_t* in, std::size_t count, const AffinePattern& pattern,
                         std::byte* bytes) {
  using Element = typename As::Element;
  auto* const out = reinterpret_cast<Element*>(bytes);
  const DF df;
  const DI di;
  const hn::Rebind<std::uint8_t, DF> d8;
  constexpr std::size_t lanes = hn::MaxLanes(DF());
  const auto block = [&](const std::uint8_t* from, std::size_t phase, Element* to) HWY_ATTR {
    const VF pixels = hn::ConvertTo(df, hn::PromoteTo(di, hn::LoadU(d8, from)));
    const VF scaled = hn::Mul(pixels, hn::LoadU(df, pattern.scale.data() + phase));
    As()(hn::Add(scaled, hn::LoadU(df, pattern.bias.data() + phase)), to);
  };
  std::size_t x = 0;
  for (; x + 3 * lanes <= count; x += 3 * lanes) {
    for (std::size_t i = 0; i < 3; ++i) {
      block(in + x + i * lanes, i * lanes % AffinePattern::period, out + x + i * lanes);
    }
  }
  for (; x + lanes <= count; x += lanes) block(in + x, x % AffinePattern::period, out + x);
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
  store_as<AsFloat>(in, count, pattern, out);
}
void store_f16(const std::uint8_t* in, std::size_t count, const AffinePattern& pattern,
               std::byte* out) {
  store_as<AsHalf>(in, count, pattern, out);
}
void store_bf16(const std::uint8_t* in, std::size_t count, const AffinePattern& pattern,
                std::byte* out) {
  store_as<AsBfloat>(in, count, pattern, out);
}

}  // namespace batchcast::inline v0_1::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace batchcast::inline v0_1::detail {

HWY_EXPORT(store_f32);
HWY_EXPORT(store_f16);
HWY_EXPORT(store_bf16);

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

}  // namespace batchcast::inline v0_1::detail
#endif
