// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/pixels/operations.hpp"

#include "data/pixels/level_rows.hpp"

#include <algorithm>
#include <cstring>

namespace batchcast::inline v0_1::detail {
namespace {

using Levels = std::array<std::uint8_t, 256>;
using Histogram = std::array<std::uint64_t, 256>;

template <class Change>
void change_levels(const ImageView& image, Change change) noexcept {
  std::uint8_t* const end = image.data + image.byte_count();
  for (std::uint8_t* at = image.data; at != end; ++at) *at = change(*at);
}

template <class Level>
void map_levels(const ImageView& image, Level level) noexcept {
  Levels table;
  for (int i = 0; i < 256; ++i) {
    table[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(level(i));
  }
  change_levels(image, [&](std::uint8_t value) { return table[value]; });
}

Levels unchanged() noexcept {
  Levels levels;
  for (std::size_t i = 0; i < levels.size(); ++i) levels[i] = static_cast<std::uint8_t>(i);
  return levels;
}

// Changes each channel by the levels that `levels_of` makes from its histogram.
template <class LevelsOf>
void map_channels(const ImageView& image, LevelsOf levels_of) noexcept {
  const auto channels = static_cast<std::size_t>(image.channels);
  std::uint8_t* const end = image.data + image.byte_count();
  for (std::size_t c = 0; c < channels; ++c) {
    Histogram histogram{};
    for (std::uint8_t* at = image.data + c; at < end; at += channels) ++histogram[*at];
    const Levels levels = levels_of(histogram);
    for (std::uint8_t* at = image.data + c; at < end; at += channels) *at = levels[*at];
  }
}

// PIL's steps in double precision: a product and a sum, cut off.
Levels stretched(const Histogram& histogram) noexcept {
  int low = 0;
  int high = 255;
  while (low < 255 && histogram[static_cast<std::size_t>(low)] == 0) ++low;
  while (high > 0 && histogram[static_cast<std::size_t>(high)] == 0) --high;
  Levels levels = unchanged();
  if (high <= low) return levels;
  const double scale = 255.0 / (high - low);
  const double offset = -low * scale;
  for (int i = 0; i < 256; ++i) {
    const int level = static_cast<int>(i * scale + offset);
    levels[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(std::clamp(level, 0, 255));
  }
  return levels;
}

Levels equalized(const Histogram& histogram) noexcept {
  std::uint64_t sum = 0;
  std::uint64_t last = 0;
  for (const std::uint64_t count : histogram) {
    sum += count;
    if (count != 0) last = count;
  }
  Levels levels = unchanged();
  const std::uint64_t step = (sum - last) / 255;
  if (step == 0) return levels;
  std::uint64_t below = step / 2;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    levels[i] = static_cast<std::uint8_t>(std::min<std::uint64_t>(below / step, 255));
    below += histogram[i];
  }
  return levels;
}

std::size_t row_bytes_of(ImageSize size, std::int32_t channels) noexcept {
  return static_cast<std::size_t>(size.width) * static_cast<std::size_t>(channels);
}

}  // namespace

void posterize(const ImageView& image, int bits) noexcept {
  const auto mask = static_cast<std::uint8_t>(0xFF00U >> static_cast<unsigned>(bits));
  change_levels(image,
                [mask](std::uint8_t value) { return static_cast<std::uint8_t>(value & mask); });
}

void solarize(const ImageView& image, double threshold) noexcept {
  map_levels(image, [&](int level) { return level < threshold ? level : 255 - level; });
}

void solarize_add(const ImageView& image, int addition, int threshold) noexcept {
  map_levels(image, [&](int level) {
    return level < threshold ? std::clamp(level + addition, 0, 255) : level;
  });
}

void autocontrast(const ImageView& image) noexcept { map_channels(image, stretched); }

void equalize(const ImageView& image) noexcept { map_channels(image, equalized); }

void invert(const ImageView& image) noexcept {
  change_levels(image, [](std::uint8_t value) { return static_cast<std::uint8_t>(255 - value); });
}

void permute_channels(const ImageView& image, const std::array<std::uint8_t, 3>& order) noexcept {
  std::uint8_t* const end = image.data + image.byte_count();
  for (std::uint8_t* at = image.data; at != end; at += 3) {
    const std::array<std::uint8_t, 3> pixel = {at[order[0]], at[order[1]], at[order[2]]};
    std::memcpy(at, pixel.data(), pixel.size());
  }
}

std::size_t sharpness_scratch_bytes(ImageSize size, std::int32_t channels) noexcept {
  return 3 * row_bytes_of(size, channels);
}

void adjust_sharpness(const ImageView& image, double factor,
                      std::span<std::byte> scratch) noexcept {
  // PIL's filter leaves the outermost pixels as they are, and so an image that is too small.
  if (image.size.width < 3 || image.size.height < 3) return;
  const std::size_t bytes = row_bytes_of(image.size, image.channels);
  const auto step = static_cast<std::size_t>(image.channels);
  auto* above = reinterpret_cast<std::uint8_t*>(scratch.data());
  std::uint8_t* row = above + bytes;
  std::uint8_t* const smooth = row + bytes;
  std::memcpy(above, image.data, bytes);
  for (std::size_t y = 1; y + 1 < static_cast<std::size_t>(image.size.height); ++y) {
    std::uint8_t* const out = image.data + y * bytes;
    std::memcpy(row, out, bytes);
    const std::size_t count = bytes - 2 * step;
    smooth_row({above, row, out + bytes, step}, count, smooth);
    blend_rows(smooth, row + step, count, static_cast<float>(factor), out + step);
    std::swap(above, row);
  }
}

}  // namespace batchcast::inline v0_1::detail
