// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/pixels/gaussian_blur.hpp"

// Vectors whose length is unknown at compile time are not what the rest is made for.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "data/pixels/weigh_rows.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace batchcast::inline v0_1::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Products and sums are each rounded, in one order: every level gives the same floats.
template <class D>
HWY_INLINE void weigh_block(D d, std::span<const float* const> rows, const float* weights,
                            std::size_t at, float* out) {
  const std::size_t middle = rows.size() / 2;
  auto sum = hn::Mul(hn::LoadU(d, rows[middle] + at), hn::Set(d, weights[middle]));
  for (std::size_t k = 1; k <= middle; ++k) {
    const auto pair =
        hn::Add(hn::LoadU(d, rows[middle - k] + at), hn::LoadU(d, rows[middle + k] + at));
    sum = hn::Add(sum, hn::Mul(pair, hn::Set(d, weights[middle - k])));
  }
  hn::StoreU(sum, d, out + at);
}

void weigh(std::span<const float* const> rows, const float* weights, std::size_t count,
           float* out) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t at = 0;
  for (; at + lanes <= count; at += lanes) weigh_block(d, rows, weights, at, out);
  const hn::CappedTag<float, 1> one;
  for (; at < count; ++at) weigh_block(one, rows, weights, at, out);
}

}  // namespace batchcast::inline v0_1::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace batchcast::inline v0_1::detail {

HWY_EXPORT(weigh);

void weigh_rows(std::span<const float* const> rows, const float* weights, std::size_t count,
                float* out) {
  HWY_DYNAMIC_DISPATCH(weigh)(rows, weights, count, out);
}

}  // namespace batchcast::inline v0_1::detail
#endif
