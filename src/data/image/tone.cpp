// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/image/operations.hpp"

#include <algorithm>
#include <cstring>

namespace batchcast::inline v0_1::detail {
namespace {

using Levels = std::array<std::uint8_t, 256>;
using Histogram = std::array<std::uint64_t, 256>;

std::uint8_t* end_of(const ImageView& image) noexcept { return image.data + image.byte_count(); }

template <class Level>
void map_levels(const ImageView& image, Level level) noexcept {
  Levels table;
  for (int i = 0; i < 256; ++i) {
    table[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(level(i));
  }
  for (std::uint8_t* at = image.data; at != end_of(image); ++at) *at = table[*at];
}

Levels unchanged() noexcept {
  Levels levels;
  for (std::size_t i = 0; i < levels.size(); ++i) levels[i] = static_cast<std::uint8_t>(i);
  return levels;
}

// Each channel by what `levels_of` makes of its histogram.
template <class LevelsOf>
void map_channels(const ImageView& image, LevelsOf levels_of) noexcept {
  const auto channels = static_cast<std::size_t>(image.channels);
  for (std::size_t c = 0; c < channels; ++c) {
    Histogram histogram{};
    for (std::uint8_t* at = image.data + c; at < end_of(image); at += channels) ++histogram[*at];
    const Levels levels = levels_of(histogram);
    for (std::uint8_t* at = image.data + c; at < end_of(image); at += channels) *at = levels[*at];
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

// PIL's filter: nine products in single precision, row by row from the last, each row's sum added
// to what was there.
struct SmoothRows {
  const std::uint8_t* above = nullptr;
  const std::uint8_t* row = nullptr;
  const std::uint8_t* below = nullptr;
};

void sharpen_row(const SmoothRows& rows, std::size_t first, std::size_t last, std::size_t step,
                 float factor, std::uint8_t* out) noexcept {
  constexpr float weight = 1.0F / 13.0F;
  constexpr float middle = 5.0F / 13.0F;
  for (std::size_t i = first; i < last; ++i) {
    const auto sum = [&](const std::uint8_t* row, float centre) {
      return static_cast<float>(row[i - step]) * weight + static_cast<float>(row[i]) * centre +
             static_cast<float>(row[i + step]) * weight;
    };
    float smooth = 0.5F;
    smooth += sum(rows.below, weight);
    smooth += sum(rows.row, middle);
    smooth += sum(rows.above, weight);
    const int from = static_cast<int>(std::min(smooth, 255.0F));
    const float product = factor * static_cast<float>(rows.row[i] - from);
    const float blended = static_cast<float>(from) + product;
    out[i] = static_cast<std::uint8_t>(static_cast<int>(std::min(std::max(blended, 0.0F), 255.0F)));
  }
}

std::size_t row_bytes_of(ImageSize size, std::int32_t channels) noexcept {
  return static_cast<std::size_t>(size.width) * static_cast<std::size_t>(channels);
}

}  // namespace

void posterize(const ImageView& image, int bits) noexcept {
  const auto mask = static_cast<std::uint8_t>(0xFF00U >> static_cast<unsigned>(bits));
  for (std::uint8_t* at = image.data; at != end_of(image); ++at) *at &= mask;
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
  for (std::uint8_t* at = image.data; at != end_of(image); ++at) {
    *at = static_cast<std::uint8_t>(255 - *at);
  }
}

void permute_channels(const ImageView& image, const std::array<std::uint8_t, 3>& order) noexcept {
  for (std::uint8_t* at = image.data; at != end_of(image); at += 3) {
    const std::array<std::uint8_t, 3> pixel = {at[order[0]], at[order[1]], at[order[2]]};
    std::memcpy(at, pixel.data(), pixel.size());
  }
}

std::size_t sharpness_scratch_bytes(ImageSize size, std::int32_t channels) noexcept {
  return 2 * row_bytes_of(size, channels);
}

void adjust_sharpness(const ImageView& image, double factor,
                      std::span<std::byte> scratch) noexcept {
  // PIL's filter leaves the outermost pixels as they are, and an image that is too small for it.
  if (image.size.width < 3 || image.size.height < 3) return;
  const std::size_t bytes = row_bytes_of(image.size, image.channels);
  const auto step = static_cast<std::size_t>(image.channels);
  auto* above = reinterpret_cast<std::uint8_t*>(scratch.data());
  std::uint8_t* row = above + bytes;
  std::memcpy(above, image.data, bytes);
  for (std::size_t y = 1; y + 1 < static_cast<std::size_t>(image.size.height); ++y) {
    std::uint8_t* const out = image.data + y * bytes;
    std::memcpy(row, out, bytes);
    sharpen_row({above, row, out + bytes}, step, bytes - step, step, static_cast<float>(factor),
                out);
    std::swap(above, row);
  }
}

}  // namespace batchcast::inline v0_1::detail
