// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/pixels/gaussian_blur.hpp"

#include "data/pixels/blur_scratch.hpp"
#include "data/portable_math.hpp"

#include <batchcast/core/assert.hpp>

#include <algorithm>
#include <cmath>

namespace batchcast::inline v0_1::detail {
namespace {

std::size_t length_of(const BlurAxis& axis) noexcept {
  return static_cast<std::size_t>(axis.kernel);
}

void fill_weights(const BlurAxis& axis, float* weights) noexcept {
  std::array<double, blur_kernel_max> exact{};
  double sum = 0;
  for (std::size_t i = 0; i < length_of(axis); ++i) {
    const double distance = (static_cast<double>(i) - (axis.kernel - 1) / 2.0) / axis.sigma;
    exact[i] = portable_exp(-std::min(distance * distance / 2, 700.0));
    sum += exact[i];
  }
  for (std::size_t i = 0; i < length_of(axis); ++i) {
    weights[i] = static_cast<float>(exact[i] / sum);
  }
}

// The pixel at -1 is the pixel at 1.
std::int32_t mirrored(std::int32_t at, std::int32_t extent) noexcept {
  if (at < 0) return -at;
  return at < extent ? at : 2 * (extent - 1) - at;
}

void store(const float* in, std::size_t count, float* out) noexcept { std::copy_n(in, count, out); }

void store(const float* in, std::size_t count, std::uint8_t* out) noexcept {
  // At this size the unit of the last place is 1, and adding rounds to it, ties to even.
  constexpr float shift = 0x1.8p23F;
  for (std::size_t i = 0; i < count; ++i) {
    const float rounded = (in[i] + shift) - shift;
    out[i] = static_cast<std::uint8_t>(
        static_cast<std::int32_t>(std::min(std::max(rounded, 0.0F), 255.0F)));
  }
}

/// Rows go through one after the other. A row is blurred across when it comes, and down when the
/// rows below that it needs are there. That is before any of them is written.
template <class Element>
class Blurring {
 public:
  Blurring(Element* data, ImageSize size, std::int32_t channels, const Blur& blur,
           std::span<std::byte> scratch) noexcept
      : data_(data),
        size_(size),
        channels_(static_cast<std::size_t>(channels)),
        across_(length_of(blur.across)),
        down_(length_of(blur.down)),
        length_(row_length(size, channels)),
        left_(scratch) {
    across_weights_ = take<float>(across_);
    down_weights_ = take<float>(down_);
    fill_weights(blur.across, across_weights_);
    fill_weights(blur.down, down_weights_);
    padded_ = take<float>(length_ + (across_ - 1) * channels_);
    out_ = take<float>(length_);
    rows_ = take<const float*>(std::max(across_, down_));
    stride_ = rounded_up(length_ * sizeof(float)) / sizeof(float);
    ring_ = take<float>(down_ * stride_);
  }

  static std::size_t bytes_for(ImageSize size, std::int32_t channels, const Blur& blur) noexcept {
    const std::size_t length = row_length(size, channels);
    const std::size_t across = length_of(blur.across);
    const std::size_t down = length_of(blur.down);
    const auto floats = [](std::size_t count) { return rounded_up(count * sizeof(float)); };
    return floats(across) + floats(down) +
           floats(length + (across - 1) * static_cast<std::size_t>(channels)) + floats(length) +
           rounded_up(std::max(across, down) * sizeof(const float*)) + down * floats(length);
  }

  void run() {
    const auto below = static_cast<std::int32_t>(down_ / 2);
    std::int32_t ready = 0;
    for (std::int32_t y = 0; y < size_.height; ++y) {
      for (; ready < size_.height && ready <= y + below; ++ready) blur_across(ready);
      for (std::size_t i = 0; i < down_; ++i) {
        rows_[i] = in_ring(mirrored(y - below + static_cast<std::int32_t>(i), size_.height));
      }
      weigh_rows({rows_, down_}, down_weights_, length_, out_);
      store(out_, length_, row(y));
    }
  }

 private:
  template <class T>
  T* take(std::size_t count) noexcept {
    const std::size_t bytes = rounded_up(count * sizeof(T));
    BATCHCAST_ASSERT(bytes <= left_.size());
    auto* taken = reinterpret_cast<T*>(left_.data());
    left_ = left_.subspan(bytes);
    return taken;
  }
  [[nodiscard]] Element* row(std::int32_t y) const noexcept {
    return data_ + static_cast<std::size_t>(y) * length_;
  }
  [[nodiscard]] float* in_ring(std::int32_t y) const noexcept {
    return ring_ + static_cast<std::size_t>(y) % down_ * stride_;
  }

  void blur_across(std::int32_t y) {
    const Element* from = row(y);
    const std::size_t edge = across_ / 2 * channels_;
    for (std::size_t i = 0; i < length_; ++i) padded_[edge + i] = static_cast<float>(from[i]);
    for (std::size_t x = 1; x <= across_ / 2; ++x) {
      for (std::size_t c = 0; c < channels_; ++c) {
        padded_[edge - x * channels_ + c] = padded_[edge + x * channels_ + c];
        padded_[edge + length_ + (x - 1) * channels_ + c] =
            padded_[edge + length_ - (x + 1) * channels_ + c];
      }
    }
    for (std::size_t i = 0; i < across_; ++i) rows_[i] = padded_ + i * channels_;
    weigh_rows({rows_, across_}, across_weights_, length_, in_ring(y));
  }

  Element* data_;
  ImageSize size_;
  std::size_t channels_;
  std::size_t across_;
  std::size_t down_;
  std::size_t length_;
  std::span<std::byte> left_;
  float* across_weights_ = nullptr;
  float* down_weights_ = nullptr;
  float* padded_ = nullptr;
  float* out_ = nullptr;
  const float** rows_ = nullptr;
  std::size_t stride_ = 0;
  float* ring_ = nullptr;
};

}  // namespace

bool can_blur(ImageSize size, const Blur& blur) noexcept {
  return blur.across.kernel / 2 < size.width && blur.down.kernel / 2 < size.height;
}

std::size_t blur_scratch_bytes(ImageSize size, std::int32_t channels, const Blur& blur) noexcept {
  return Blurring<float>::bytes_for(size, channels, blur);
}

void gaussian_blur(const ImageView& image, const Blur& blur, std::span<std::byte> scratch) {
  BATCHCAST_ASSERT(can_blur(image.size, blur));
  Blurring(image.data, image.size, image.channels, blur, scratch).run();
}

void gaussian_blur(float* plane, ImageSize size, const Blur& blur, std::span<std::byte> scratch) {
  BATCHCAST_ASSERT(can_blur(size, blur));
  Blurring(plane, size, 1, blur, scratch).run();
}

}  // namespace batchcast::inline v0_1::detail
