// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/codec/jpeg/recompress.hpp"

#include <batchcast/core/assert.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "data/codec/jpeg/block_grid.hpp"
#include "data/codec/jpeg/pixels.hpp"

namespace batchcast::inline v0_1::detail {
namespace {

using Steps = std::array<std::uint8_t, 64>;

// The standard's annex K, at quality 50.
constexpr Steps luma_steps = {16,  11,  10,  16,  24, 40, 51,  61,  12,  12,  14,  19,  26,
                              58,  60,  55,  14,  13, 16, 24,  40,  57,  69,  56,  14,  17,
                              22,  29,  51,  87,  80, 62, 18,  22,  37,  56,  68,  109, 103,
                              77,  24,  35,  55,  64, 81, 104, 113, 92,  49,  64,  78,  87,
                              103, 121, 120, 101, 72, 92, 95,  98,  112, 100, 103, 99};
constexpr Steps chroma_steps = {17, 18, 24, 47, 99, 99, 99, 99, 18, 21, 26, 66, 99, 99, 99, 99,
                                24, 26, 56, 99, 99, 99, 99, 99, 47, 66, 99, 99, 99, 99, 99, 99,
                                99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
                                99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99};

/// Divides by eight times the step, which is how much larger coefficients are: exactly, by two
/// products of which the high 16 bits are kept.
void fill_divisor(JpegQuantisation& table, std::size_t at, int step) noexcept {
  const auto divisor = static_cast<std::uint32_t>(8 * step);
  int bits = 16 + std::bit_width(divisor) - 1;
  std::uint32_t reciprocal = (1U << static_cast<unsigned>(bits)) / divisor;
  const std::uint32_t rest = (1U << static_cast<unsigned>(bits)) % divisor;
  std::uint32_t rounding = divisor / 2;
  if (rest == 0) {
    reciprocal >>= 1U;
    --bits;
  } else if (rest <= divisor / 2) {
    ++rounding;
  } else {
    ++reciprocal;
  }
  table.steps[at] = static_cast<std::uint16_t>(step);
  table.roundings[at] = static_cast<std::uint16_t>(rounding);
  table.reciprocals[at] = static_cast<std::uint16_t>(reciprocal);
  table.scales[at] = static_cast<std::uint16_t>(1U << static_cast<unsigned>(32 - bits));
}

void fill_table(JpegQuantisation& table, const Steps& steps, int quality) noexcept {
  const int percent = quality < 50 ? 5000 / quality : 200 - 2 * quality;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    fill_divisor(table, i, std::clamp((steps[i] * percent + 50) / 100, 1, 255));
  }
}

constexpr std::size_t rounded_up(std::size_t bytes) noexcept { return (bytes + 63) / 64 * 64; }

/// Where samples lie. Rows and columns are whole blocks; what lies beyond the image repeats it.
struct Layout {
  Layout(ImageSize size, std::int32_t channels, JpegSampling sampling) noexcept
      : is_gray(channels == 1),
        across(is_gray || sampling == JpegSampling::full ? 1 : 2),
        down(is_gray || sampling != JpegSampling::half ? 1 : 2),
        width(static_cast<std::size_t>(size.width)),
        height(static_cast<std::size_t>(size.height)),
        chroma_width((width + across - 1) / across),
        chroma_height((height + down - 1) / down),
        chroma_stride(whole_blocks(chroma_width)),
        stride(chroma_stride * across) {}

  static std::size_t whole_blocks(std::size_t samples) noexcept {
    constexpr auto side = static_cast<std::size_t>(jpeg_block_side);
    return (samples + side - 1) / side * side;
  }
  [[nodiscard]] std::size_t luma_bytes() const noexcept {
    return rounded_up(stride * whole_blocks(height) + jpeg_row_slack);
  }
  [[nodiscard]] std::size_t chroma_bytes() const noexcept {
    return is_gray ? 0 : rounded_up(chroma_stride * whole_blocks(chroma_height) + jpeg_row_slack);
  }
  /// A row of samples as large as the image, and of its pixels.
  [[nodiscard]] std::size_t row_bytes() const noexcept {
    return rounded_up(stride + jpeg_row_slack);
  }
  [[nodiscard]] std::size_t pixel_row_bytes() const noexcept {
    return rounded_up(3 * (stride + jpeg_row_slack));
  }
  [[nodiscard]] std::size_t block_bytes() const noexcept {
    return rounded_up(stride * static_cast<std::size_t>(jpeg_block_side) * sizeof(std::int16_t));
  }
  [[nodiscard]] std::size_t bytes() const noexcept {
    return luma_bytes() + 2 * chroma_bytes() + 4 * row_bytes() + pixel_row_bytes() + block_bytes();
  }

  bool is_gray;
  std::size_t across;
  std::size_t down;
  std::size_t width;
  std::size_t height;
  std::size_t chroma_width;
  std::size_t chroma_height;
  std::size_t chroma_stride;
  std::size_t stride;
};

/// An image on its way to samples, through coefficients, and back.
class Recompression {
 public:
  Recompression(const ImageView& image, const JpegQuality& quality,
                std::span<std::byte> scratch) noexcept
      : image_(image), layout_(image.size, image.channels, quality.sampling), left_(scratch) {
    BATCHCAST_ASSERT(scratch.size() >= layout_.bytes());
    luma_ = take(layout_.luma_bytes());
    for (auto& plane : chroma_) plane = take(layout_.chroma_bytes());
    for (auto& row : rows_) row = take(layout_.row_bytes());
    pixels_ = take(layout_.pixel_row_bytes());
    blocks_ = reinterpret_cast<std::int16_t*>(take(layout_.block_bytes()));
    fill_table(luma_table_, luma_steps, quality.quality);
    fill_table(chroma_table_, chroma_steps, quality.quality);
  }

  void run() {
    if (layout_.is_gray) {
      split_gray();
    } else {
      split();
    }
    round(luma_, layout_.stride, Layout::whole_blocks(layout_.width), layout_.height, luma_table_);
    if (layout_.is_gray) return join_gray();
    for (std::uint8_t* plane : chroma_) {
      round(plane, layout_.chroma_stride, layout_.chroma_stride, layout_.chroma_height,
            chroma_table_);
    }
    join();
  }

 private:
  std::uint8_t* take(std::size_t bytes) noexcept {
    auto* taken = reinterpret_cast<std::uint8_t*>(left_.data());
    left_ = left_.subspan(bytes);
    return taken;
  }
  [[nodiscard]] std::uint8_t* image_row(std::size_t y) const noexcept {
    return image_.data + y * layout_.width * static_cast<std::size_t>(image_.channels);
  }

  void split_gray() noexcept {
    for (std::size_t y = 0; y < layout_.height; ++y) {
      std::uint8_t* const row = luma_ + y * layout_.stride;
      std::memcpy(row, image_row(y), layout_.width);
      std::memset(row + layout_.width, row[layout_.width - 1], layout_.stride - layout_.width);
    }
    repeat_last(luma_, layout_.stride, layout_.height);
  }

  void split() {
    for (std::size_t y = 0; y < layout_.chroma_height; ++y) {
      split_row(layout_.down * y, rows_[0], rows_[1]);
      if (layout_.down == 2 && 2 * y + 1 < layout_.height) {
        split_row(2 * y + 1, rows_[2], rows_[3]);
      } else if (layout_.down == 2) {
        for (std::size_t c = 0; c < 2; ++c) std::memcpy(rows_[2 + c], rows_[c], layout_.stride);
      }
      for (std::size_t c = 0; c < chroma_.size(); ++c) {
        std::uint8_t* const out = chroma_[c] + y * layout_.chroma_stride;
        if (layout_.down == 2) {
          jpeg_downsample_h2v2(rows_[c], rows_[2 + c], layout_.chroma_stride, out);
        } else if (layout_.across == 2) {
          jpeg_downsample_h2v1(rows_[c], layout_.chroma_stride, out);
        } else {
          std::memcpy(out, rows_[c], layout_.chroma_stride);
        }
      }
    }
    repeat_last(luma_, layout_.stride, layout_.height);
    for (std::uint8_t* plane : chroma_) {
      repeat_last(plane, layout_.chroma_stride, layout_.chroma_height);
    }
  }

  void split_row(std::size_t y, std::uint8_t* blue, std::uint8_t* red) {
    std::memcpy(pixels_, image_row(y), 3 * layout_.width);
    for (std::size_t x = layout_.width; x < layout_.stride; ++x) {
      std::memcpy(pixels_ + 3 * x, pixels_ + 3 * (layout_.width - 1), 3);
    }
    jpeg_ycc_from_rgb(pixels_, layout_.stride, luma_ + y * layout_.stride, blue, red);
  }

  static void repeat_last(std::uint8_t* plane, std::size_t stride, std::size_t height) noexcept {
    const std::uint8_t* const last = plane + (height - 1) * stride;
    for (std::size_t y = height; y < Layout::whole_blocks(height); ++y) {
      std::memcpy(plane + y * stride, last, stride);
    }
  }

  void round(std::uint8_t* plane, std::size_t stride, std::size_t width, std::size_t height,
             const JpegQuantisation& table) {
    constexpr auto side = static_cast<std::size_t>(jpeg_block_side);
    const std::size_t count = width / side;
    for (std::size_t y = 0; y < height; y += side) {
      std::uint8_t* const row = plane + y * stride;
      jpeg_quantised_dct(row, stride, count, table, blocks_);
      jpeg_inverse_dct(blocks_, count, row, stride);
    }
  }

  void join_gray() noexcept {
    for (std::size_t y = 0; y < layout_.height; ++y) {
      std::memcpy(image_row(y), luma_ + y * layout_.stride, layout_.width);
    }
  }

  void join() {
    for (std::size_t y = 0; y < layout_.height; ++y) {
      const std::uint8_t* const blue = upsampled(chroma_[0], y, rows_[0]);
      const std::uint8_t* const red = upsampled(chroma_[1], y, rows_[1]);
      jpeg_rgb_from_ycc(luma_ + y * layout_.stride, blue, red, layout_.width, pixels_);
      std::memcpy(image_row(y), pixels_, 3 * layout_.width);
    }
  }

  /// Row `y` of the image in a plane of colour samples.
  const std::uint8_t* upsampled(const std::uint8_t* plane, std::size_t y,
                                std::uint8_t* room) const {
    const std::size_t near_y = y / layout_.down;
    const std::uint8_t* const near_row = plane + near_y * layout_.chroma_stride;
    if (layout_.across == 1) return near_row;
    const std::size_t width = layout_.chroma_width;
    if (width <= 2) {  // too few for libjpeg to interpolate
      for (std::size_t x = 0; x < 2 * width; ++x) room[x] = near_row[x / 2];
    } else if (layout_.down == 1) {
      jpeg_upsample_h2v1(near_row, width, room);
    } else {
      const bool is_lower = y % 2 != 0;
      const std::size_t last = layout_.chroma_height - 1;
      const std::size_t far_y =
          is_lower ? std::min(near_y + 1, last) : near_y - (near_y > 0 ? 1 : 0);
      jpeg_upsample_h2v2(near_row, plane + far_y * layout_.chroma_stride, width, room);
    }
    return room;
  }

  const ImageView& image_;
  const Layout layout_;
  std::span<std::byte> left_;
  JpegQuantisation luma_table_;
  JpegQuantisation chroma_table_;
  std::uint8_t* luma_ = nullptr;
  std::array<std::uint8_t*, 2> chroma_{};
  std::array<std::uint8_t*, 4> rows_{};  ///< blue and red of a row and of the one below it
  std::uint8_t* pixels_ = nullptr;
  std::int16_t* blocks_ = nullptr;
};

}  // namespace

std::size_t recompress_scratch_bytes(ImageSize size, std::int32_t channels,
                                     JpegSampling sampling) noexcept {
  return Layout(size, channels, sampling).bytes();
}

void jpeg_recompress(const ImageView& image, const JpegQuality& quality,
                     std::span<std::byte> scratch) {
  BATCHCAST_ASSERT(quality.quality >= 1 && quality.quality <= 100);
  Recompression(image, quality, scratch).run();
}

}  // namespace batchcast::inline v0_1::detail
