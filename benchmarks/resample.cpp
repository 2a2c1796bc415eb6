// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/resample/kernels.hpp"
#include "data/resample/resampler.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// Square crops of a side to 224 × 224 RGB. Rows come 16 at a time from a buffer that stays in the
// cache, as they do from a decoder; sides differ a little from image to image, as they do with
// random crops; and outputs go through more memory than caches hold, as they do in a ring.
namespace {

using namespace batchcast;
using batchcast::detail::PixelFormat;
using batchcast::detail::Resampler;

constexpr std::size_t rows_at_once = 16;
constexpr std::size_t output_bytes = std::size_t{3} * 224 * 224 * 4;
constexpr std::size_t output_count = 64;

void run(benchmark::State& state, const PixelFormat& format, bool resize) {
  const auto side = static_cast<std::int32_t>(state.range(0));
  std::vector<std::uint8_t> rows(static_cast<std::size_t>(side + 16) * 3 * rows_at_once);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::uint8_t>(i * 31 + i / 7);
  std::vector<std::byte> out(output_bytes * output_count);
  Resampler resampler;
  std::int32_t image = 0;
  for (auto _ : state) {
    const std::int32_t width = side + (resize ? image % 13 : 0);
    Geometry geometry = Geometry::of({width, side + (resize ? image % 11 : 0)});
    if (resize) geometry.resize({224, 224});
    geometry.flip_x = resize && image % 2 == 1;
    const std::size_t slot = static_cast<std::size_t>(image++) % output_count;
    const Box wanted = resampler.begin(geometry, 3, format, out.data() + slot * output_bytes);
    const auto stride = static_cast<std::size_t>(wanted.width) * 3;
    for (auto left = static_cast<std::size_t>(wanted.height); left != 0;) {
      const std::size_t count = std::min(left, rows_at_once);
      resampler.push(rows.data(), stride, count);
      left -= count;
    }
    benchmark::ClobberMemory();
  }
}

const PixelFormat normalized{.dtype = DType::f32,
                             .layout = ImageLayout::chw,
                             .scale = {0.0171F, 0.0175F, 0.0174F},
                             .bias = {-2.1F, -2.0F, -1.8F}};
const PixelFormat half{.dtype = DType::f16,
                       .layout = ImageLayout::chw,
                       .scale = normalized.scale,
                       .bias = normalized.bias};

BENCHMARK_CAPTURE(run, f32_chw, normalized, true)
    ->Arg(100)
    ->Arg(150)
    ->Arg(224)
    ->Arg(300)
    ->Arg(400)
    ->Arg(500)
    ->Arg(600)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(run, f16_chw, half, true)->Arg(300)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(run, u8_hwc, PixelFormat{}, true)->Arg(300)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(run, as_it_is_u8_hwc, PixelFormat{}, false)->Arg(32);
BENCHMARK_CAPTURE(run, as_it_is_u8_chw, PixelFormat{.layout = ImageLayout::chw}, false)->Arg(32);
BENCHMARK_CAPTURE(run, as_it_is_f32_chw, normalized, false)->Arg(32);

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  const std::int64_t level = batchcast::detail::simd_levels().front();
  benchmark::AddCustomContext("simd", std::string(batchcast::detail::simd_level_name(level)));
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
