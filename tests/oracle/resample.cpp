// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/resample/resampler.hpp"

#include <cstddef>
#include <cstdint>
#include <iostream>
#include <string_view>
#include <vector>

// What resample_oracle.py asks. Each case: a line of width, height, channels, box (x y w h), size,
// padding (left top right bottom), its mode, flips and interpolation, and then the image's pixels.
// `pillow-13` as the only argument: in that release's order of passes.
int main(int argc, char** argv) {
  using namespace batchcast;
  std::ios::sync_with_stdio(false);
  const bool as_pillow_13 = argc == 2 && std::string_view(argv[1]) == "pillow-13";
  detail::Resampler resampler;
  std::vector<std::uint8_t> pixels;
  std::vector<std::byte> out;
  ImageSize size;
  while (std::cin >> size.width >> size.height) {
    std::int32_t channels = 0;
    Box box;
    ImageSize resized;
    std::int32_t left = 0, top = 0, right = 0, bottom = 0, mode = 0;
    bool flip_x = false, flip_y = false;
    std::int32_t interpolation = 0;
    std::cin >> channels >> box.x >> box.y >> box.width >> box.height >> resized.width >>
        resized.height >> left >> top >> right >> bottom >> mode >> flip_x >> flip_y >>
        interpolation;
    std::cin.get();
    const auto stride = static_cast<std::size_t>(size.width) * static_cast<std::size_t>(channels);
    pixels.resize(stride * static_cast<std::size_t>(size.height));
    std::cin.read(reinterpret_cast<char*>(pixels.data()),
                  static_cast<std::streamsize>(pixels.size()));

    Geometry geometry = Geometry::of(size);
    geometry.crop(box);
    geometry.resize(resized);
    geometry.as_pillow_13 = as_pillow_13;
    geometry.interpolation = static_cast<Interpolation>(interpolation);
    geometry.pad(left, top, right, bottom, static_cast<PaddingMode>(mode), 0);
    if (flip_x) geometry.flip_horizontally();
    if (flip_y) geometry.flip_vertically();
    out.resize(static_cast<std::size_t>(geometry.output().width) *
               static_cast<std::size_t>(geometry.output().height) *
               static_cast<std::size_t>(channels));
    const Box wanted = resampler.begin(geometry, channels, {}, out.data());
    resampler.push(pixels.data() + static_cast<std::size_t>(wanted.y) * stride +
                       static_cast<std::size_t>(wanted.x) * static_cast<std::size_t>(channels),
                   stride, static_cast<std::size_t>(wanted.height));
    std::cout.write(reinterpret_cast<const char*>(out.data()),
                    static_cast<std::streamsize>(out.size()));
  }
  return std::cin.eof() ? 0 : 1;
}
