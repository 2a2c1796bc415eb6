// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/dtype.hpp>

#include <array>
#include <cstdint>

namespace batchcast::inline v0_1::detail::cuda {

/// What one launch of the kernel `batchcast_finish` works on, passed by value. The driver takes it
/// at the launch: it need not stay valid, nor be copied to the device before.
struct FinishArguments {
  static constexpr std::uint32_t samples_max = 16'384;

  const std::uint8_t* in = nullptr;  ///< u8, [height, width, channels]
  std::uint64_t in_stride_bytes = 0;
  std::uint8_t* out = nullptr;  ///< [channels, height, width] if `planar`
  std::uint64_t out_stride_bytes = 0;
  std::uint32_t samples = 0;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint32_t channels = 3;        ///< 3 or 1
  std::uint32_t pixels_at_once = 1;  ///< of a thread: pixels_at_once()
  DType dtype = DType::f32;          ///< f32, f16 or bf16
  bool planar = true;
  std::array<float, 3> scale{};
  std::array<float, 3> bias{};
  /// The mirrored samples: bit i % 32 of word i / 32.
  std::array<std::uint32_t, samples_max / 32> flips{};
};

/// 4 where four pixels at a time lie in one row and can be read and written as words; else 1.
[[nodiscard]] inline std::uint32_t pixels_at_once(const FinishArguments& finish) noexcept {
  const auto aligned = [](const void* data, std::uint64_t stride_bytes, std::uint64_t to) {
    return (reinterpret_cast<std::uintptr_t>(data) | stride_bytes) % to == 0;
  };
  return finish.width % 4 == 0 && aligned(finish.in, finish.in_stride_bytes, 4) &&
                 aligned(finish.out, finish.out_stride_bytes, 4 * size_of(finish.dtype))
             ? 4
             : 1;
}

/// The grid of a launch: `blocks_x` × samples blocks of `threads`.
struct FinishGrid {
  static constexpr std::uint32_t threads = 256;
  [[nodiscard]] static constexpr std::uint32_t blocks_x(const FinishArguments& finish) noexcept {
    const std::uint32_t groups = finish.width * finish.height / finish.pixels_at_once;
    return (groups + threads - 1) / threads;
  }
};

}  // namespace batchcast::inline v0_1::detail::cuda
