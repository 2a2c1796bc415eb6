// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

// What the JPEG kernels share, once for each SIMD level that includes this.
#if defined(BATCHCAST_JPEG_LANES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef BATCHCAST_JPEG_LANES_INL
#undef BATCHCAST_JPEG_LANES_INL
#else
#define BATCHCAST_JPEG_LANES_INL
#endif

#include <hwy/highway.h>
#include <bit>
#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace batchcast::inline v0_1::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_ARCH_X86
using DBytes = hn::CappedTag<std::uint8_t, 64>;
#else
using DBytes = hn::CappedTag<std::uint8_t, 16>;
#endif
using DSixteen = hn::CappedTag<std::uint8_t, 16>;

// The bytes of a, then those of b, within each block of 128 bits. It undoes widening by
// InterleaveLower and InterleaveUpper.
#if HWY_ARCH_X86 && HWY_TARGET != HWY_EMU128 && HWY_TARGET != HWY_SCALAR
HWY_INLINE hn::Vec128<std::uint8_t> narrow(hn::Vec128<std::int16_t> a, hn::Vec128<std::int16_t> b) {
  return hn::Vec128<std::uint8_t>{_mm_packus_epi16(a.raw, b.raw)};
}
#if HWY_TARGET <= HWY_AVX2
HWY_INLINE hn::Vec256<std::uint8_t> narrow(hn::Vec256<std::int16_t> a, hn::Vec256<std::int16_t> b) {
  return hn::Vec256<std::uint8_t>{_mm256_packus_epi16(a.raw, b.raw)};
}
#endif
#if HWY_TARGET <= HWY_AVX3
HWY_INLINE hn::Vec512<std::uint8_t> narrow(hn::Vec512<std::int16_t> a, hn::Vec512<std::int16_t> b) {
  return hn::Vec512<std::uint8_t>{_mm512_packus_epi16(a.raw, b.raw)};
}
#endif
#elif HWY_TARGET != HWY_SCALAR
template <class V>
HWY_INLINE hn::Vec<DBytes> narrow(V a, V b) {
  const hn::Half<DBytes> half;
  return hn::Combine(DBytes(), hn::DemoteTo(half, b), hn::DemoteTo(half, a));
}
#endif

// The sum of lane 2i of a times that of b, and lane 2i + 1 of a times that of b.
template <class V, class D32>
HWY_INLINE hn::Vec<D32> multiply_pairs(D32 d32, V a, V b) {
  hn::Vec<D32> odd = hn::Zero(d32);
  const hn::Vec<D32> even = hn::ReorderWidenMulAccumulate(d32, a, b, hn::Zero(d32), odd);
  return hn::RearrangeToOddPlusEven(even, odd);
}
// Repeats the two numbers.
template <class D16>
HWY_INLINE hn::Vec<D16> pair_of(D16 d16, std::int16_t even, std::int16_t odd) {
  if constexpr (std::endian::native == std::endian::little) {
    const hn::RepartitionToWide<hn::RebindToUnsigned<D16>> d32;
    const auto high = std::uint32_t{static_cast<std::uint16_t>(odd)} << 16;
    return hn::BitCast(d16, hn::Set(d32, high | static_cast<std::uint16_t>(even)));
  } else {
    return hn::OddEven(hn::Set(d16, odd), hn::Set(d16, even));
  }
}

#if HWY_TARGET != HWY_SCALAR

// One DCT block for each 128 bits of a vector; only loads and stores cross their borders.
template <class D>
constexpr std::size_t blocks_of = hn::MaxLanes(D()) / 8;

// Each step interleaves every vector with the one half of them further on. That moves the highest
// bit of an element's place to the lowest. After as many steps as the place within a row has bits,
// rows are columns.
template <class D, class V, std::size_t n>
HWY_INLINE void transpose(D d, V (&rows)[n]) {
  for (int bit = 0; bit < 3; ++bit) {
    V made[n];
    for (std::size_t i = 0; i < n / 2; ++i) {
      made[2 * i] = hn::InterleaveLower(d, rows[i], rows[i + n / 2]);
      made[2 * i + 1] = hn::InterleaveUpper(d, rows[i], rows[i + n / 2]);
    }
    for (std::size_t i = 0; i < n; ++i) rows[i] = made[i];
  }
}

#endif

// Calls step(d, x) for the d's lanes from x on, up to `count`. The last vector may overlap the one
// before. Less than a whole vector goes by sixteen bytes, the last of them beyond `count`.
template <class Step>
HWY_INLINE void sweep(std::size_t count, const Step& step) {
  const DBytes d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t x = 0;
  if (count < lanes) {
    const DSixteen d16;
    for (; x < count; x += hn::Lanes(d16)) step(d16, x);
    return;
  }
  for (; x + lanes <= count; x += lanes) step(d, x);
  if (x < count) step(d, count - lanes);
}

}  // namespace batchcast::inline v0_1::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
