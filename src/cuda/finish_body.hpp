// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "core/half.hpp"
#include "cuda/finish_arguments.hpp"

#include <bit>
#include <cstdint>

// The work of one thread of the kernel `batchcast_finish`, for the device (finish_kernel.cu) and,
// in tests, for the host.
#if defined(__CUDACC__)
#define BATCHCAST_BOTH_SIDES __host__ __device__ __forceinline__
#else
#define BATCHCAST_BOTH_SIDES inline
#endif

namespace batchcast::inline v0_1::detail::cuda {

/// One product and one sum, each rounded, as in the CPU's pipeline: a fused one would round once.
/// Returns the bits of the element; the upper ones are zero for a half.
template <std::uint32_t Bytes>
BATCHCAST_BOTH_SIDES std::uint32_t finished_bits(std::uint8_t pixel, float scale, float bias,
                                                 DType dtype) {
#if defined(__CUDA_ARCH__)
  const float value = __fadd_rn(__fmul_rn(static_cast<float>(pixel), scale), bias);
#else
  const float value = static_cast<float>(pixel) * scale + bias;
#endif
  if constexpr (Bytes == 4) return std::bit_cast<std::uint32_t>(value);
#if defined(__CUDA_ARCH__)
  // Every GPU that we have machine code for has an instruction for it, which rounds as the integers
  // do. For a NaN it makes other bits.
  static_assert(__CUDA_ARCH__ >= 800);
  std::uint16_t half = 0;
  if (dtype == DType::f16) {
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(value));
  } else {
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(half) : "f"(value));
  }
  return half;
#else
  return dtype == DType::f16 ? detail::f16_from_f32(value) : detail::bf16_from_f32(value);
#endif
}

// Words at places of bytes, as a device reads and writes them at once.
using AnyHalf [[gnu::may_alias]] = std::uint16_t;
using AnyWord [[gnu::may_alias]] = std::uint32_t;
#if defined(__CUDACC__)
using TwoWords = uint2;
using FourWords = uint4;
#else
struct [[gnu::may_alias]] alignas(8) TwoWords {
  std::uint32_t a, b;
};
struct [[gnu::may_alias]] alignas(16) FourWords {
  std::uint32_t a, b, c, d;
};
#endif

/// `Count` elements in a row, of `Bytes` each: one, or a multiple of four at a place that is
/// aligned to four of them.
template <std::uint32_t Bytes, std::uint32_t Count>
BATCHCAST_BOTH_SIDES void store_bits(std::uint8_t* out, const std::uint32_t* bits) {
  if constexpr (Count == 1 && Bytes == 2) {
    *reinterpret_cast<AnyHalf*>(out) = static_cast<std::uint16_t>(bits[0]);
  } else if constexpr (Count == 1) {
    *reinterpret_cast<AnyWord*>(out) = bits[0];
  } else {
    for (std::uint32_t i = 0; i < Count; i += 4) {
      const std::uint32_t* four = bits + i;
      if constexpr (Bytes == 2) {
        *reinterpret_cast<TwoWords*>(out + 2 * i) = {four[0] | (four[1] << 16),
                                                     four[2] | (four[3] << 16)};
      } else {
        *reinterpret_cast<FourWords*>(out + 4 * i) = {four[0], four[1], four[2], four[3]};
      }
    }
  }
}

/// `Count` bytes: one or three, or a multiple of four at a place that is aligned to four.
template <std::uint32_t Count>
BATCHCAST_BOTH_SIDES void load_pixels(const std::uint8_t* in, std::uint8_t* pixels) {
  if constexpr (Count % 4 == 0) {
    for (std::uint32_t i = 0; i < Count; i += 4) {
      const std::uint32_t word = *reinterpret_cast<const AnyWord*>(in + i);
      for (std::uint32_t j = 0; j < 4; ++j) {
        pixels[i + j] = static_cast<std::uint8_t>(word >> (8 * j));
      }
    }
  } else {
    for (std::uint32_t i = 0; i < Count; ++i) pixels[i] = in[i];
  }
}

/// Computes `Pixels` neighbours of a row, the `group`-th of the output.
template <std::uint32_t Bytes, std::uint32_t Channels, std::uint32_t Pixels>
BATCHCAST_BOTH_SIDES void finish_group(const FinishArguments& finish, std::uint32_t group,
                                       std::uint32_t sample) {
  constexpr std::uint32_t count = Channels * Pixels;
  const std::uint32_t first = group * Pixels;
  const std::uint32_t column = first % finish.width;
  const bool mirrored = ((finish.flips[sample / 32] >> (sample % 32)) & 1U) != 0;
  const std::uint32_t from = mirrored ? first - column + (finish.width - Pixels - column) : first;

  std::uint8_t pixels[count];
  load_pixels<count>(finish.in + sample * finish.in_stride_bytes + std::uint64_t{from} * Channels,
                     pixels);
  std::uint32_t planes[count];
  std::uint32_t interleaved[count];
  for (std::uint32_t i = 0; i < Pixels; ++i) {
    for (std::uint32_t c = 0; c < Channels; ++c) {
      const std::uint8_t pixel =
          mirrored ? pixels[(Pixels - 1 - i) * Channels + c] : pixels[i * Channels + c];
      const std::uint32_t bits =
          finished_bits<Bytes>(pixel, finish.scale[c], finish.bias[c], finish.dtype);
      planes[c * Pixels + i] = bits;
      interleaved[i * Channels + c] = bits;
    }
  }

  std::uint8_t* out = finish.out + sample * finish.out_stride_bytes;
  constexpr std::uint32_t run = Pixels == 1 ? 1 : count;
  if (finish.planar) {
    const std::uint64_t area = std::uint64_t{finish.width} * finish.height;
    for (std::uint32_t c = 0; c < Channels; ++c) {
      store_bits<Bytes, Pixels>(out + (c * area + first) * Bytes, planes + c * Pixels);
    }
  } else {
    out += std::uint64_t{first} * Channels * Bytes;
    for (std::uint32_t i = 0; i < count; i += run) {
      store_bits<Bytes, run>(out + i * Bytes, interleaved + i);
    }
  }
}

template <std::uint32_t Bytes>
BATCHCAST_BOTH_SIDES void finish_elements(const FinishArguments& finish, std::uint32_t group,
                                          std::uint32_t sample) {
  const bool four = finish.pixels_at_once == 4;
  if (finish.channels == 3) {
    four ? finish_group<Bytes, 3, 4>(finish, group, sample)
         : finish_group<Bytes, 3, 1>(finish, group, sample);
  } else {
    four ? finish_group<Bytes, 1, 4>(finish, group, sample)
         : finish_group<Bytes, 1, 1>(finish, group, sample);
  }
}

/// One thread: `group` is its number in the sample, `sample` its block's y.
BATCHCAST_BOTH_SIDES void finish_thread(const FinishArguments& finish, std::uint32_t group,
                                        std::uint32_t sample) {
  if (group >= finish.width * finish.height / finish.pixels_at_once) return;
  if (finish.dtype == DType::f32) {
    finish_elements<4>(finish, group, sample);
  } else {
    finish_elements<2>(finish, group, sample);
  }
}

}  // namespace batchcast::inline v0_1::detail::cuda
