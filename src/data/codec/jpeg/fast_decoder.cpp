// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/codec/jpeg/fast_decoder.hpp"

#include <algorithm>

#include "data/codec/codec.hpp"
#include "data/codec/jpeg/block_grid.hpp"
#include "data/codec/jpeg/pixels.hpp"

namespace batchcast::inline v0_1::detail {

const std::uint8_t* JpegWindowDecoder::Plane::row(std::int32_t y) const noexcept {
  return samples.data() + static_cast<std::size_t>(y % (2 * down * jpeg_block_side)) * stride;
}

bool JpegWindowDecoder::start(const JpegHeader& header, std::span<const std::byte> file,
                              const Box& window) {
  kept_ = nullptr;
  is_progressive_ = header.is_progressive;
  if (!(is_progressive_ ? progressive_.start(header, file) : entropy_.start(header))) return false;
  plan(header, window);
  return is_progressive_ || entropy_.skip(static_cast<std::size_t>(mcu_rows_done_) *
                                          static_cast<std::size_t>(mcus_across_));
}

bool JpegWindowDecoder::start_kept(const JpegHeader& header, KeptReader& kept, const Box& window) {
  kept_ = &kept;
  plan(header, window);
  const std::int32_t last = mcu_row_for(window.y + window.height - 1);
  return kept.has_rows(static_cast<std::size_t>(mcu_rows_done_),
                       static_cast<std::size_t>(last) + 1);
}

void JpegWindowDecoder::plan(const JpegHeader& header, const Box& window) {
  window_ = window;
  next_row_ = window.y;
  plan_columns(header);
  size_planes();
  // Upsampling downwards reads the chroma row above.
  const std::int32_t top = mcu_height_ > jpeg_block_side ? std::max(window.y / 2 - 1, 0) : window.y;
  mcu_rows_done_ = top / jpeg_block_side;
}

void JpegWindowDecoder::plan_columns(const JpegHeader& header) {
  const JpegComponent& luma = header.components[0];
  mcu_width_ = luma.across * jpeg_block_side;
  mcu_height_ = luma.down * jpeg_block_side;
  mcus_across_ = jpeg_divided_up(header.size.width, mcu_width_);
  mcus_down_ = jpeg_divided_up(header.size.height, mcu_height_);
  plane_count_ = static_cast<std::size_t>(header.component_count);
  for (std::size_t i = 0; i < plane_count_; ++i) {
    Plane& plane = planes_[i];
    plane.across = header.components[i].across;
    plane.down = header.components[i].down;
    plane.height = jpeg_divided_up(header.size.height * plane.down, luma.down);
  }
  std::int32_t first = window_.x;
  std::int32_t end = window_.x + window_.width;
  if (luma.across == 2) {
    // Upsampling to the right reads a neighbour on each side, where there is one.
    const std::int32_t chroma_width = jpeg_divided_up(header.size.width, 2);
    range_.first = std::max(first / 2 - 1, 0);
    end = std::min((end - 1) / 2 + 2, chroma_width);
    range_.count = static_cast<std::size_t>(end - range_.first);
    first = 2 * range_.first;
    end *= 2;
  } else {
    range_ = {first, static_cast<std::size_t>(window_.width)};
  }
  first_mcu_ = first / mcu_width_;
  end_mcu_ = jpeg_divided_up(end, mcu_width_);
}

void JpegWindowDecoder::size_planes() {
  const auto mcus = static_cast<std::size_t>(end_mcu_ - first_mcu_);
  const auto grow = [](auto& buffer, std::size_t size) {
    if (buffer.size() < size) buffer.resize(size);
  };
  for (std::size_t i = 0; i < plane_count_; ++i) {
    Plane& plane = planes_[i];
    const auto blocks = mcus * static_cast<std::size_t>(plane.across);
    const auto rows = static_cast<std::size_t>(plane.down);
    plane.stride = blocks * jpeg_block_side;
    grow(plane.blocks, rows * blocks);
    grow(plane.samples, 2 * rows * jpeg_block_side * plane.stride + jpeg_row_slack);
  }
  if (plane_count_ == 1) return;
  for (auto& row : chroma_rows_) grow(row, 2 * range_.count + jpeg_row_slack);
}

/// The last MCU row that libjpeg has decoded when it gives out row `y`: where upsampling looks
/// downwards, a row group before it has to.
std::int32_t JpegWindowDecoder::mcu_row_for(std::int32_t y) const noexcept {
  const std::int32_t ahead = mcu_height_ > jpeg_block_side ? 2 : 0;
  return std::min((y + ahead) / mcu_height_, mcus_down_ - 1);
}

/// Decodes the blocks of the next MCU row that the window needs, into the planes.
bool JpegWindowDecoder::decode_blocks() {
  std::array<JpegBlocks, JpegEntropyDecoder::blocks_max> blocks;
  const std::int32_t mcus = end_mcu_ - first_mcu_;
  std::size_t position = 0;
  for (std::size_t i = 0; i < plane_count_; ++i) {
    Plane& plane = planes_[i];
    for (std::int32_t y = 0; y < plane.down; ++y) {
      for (std::int32_t x = 0; x < plane.across; ++x) {
        blocks[position++] = {
            plane.blocks.data() + (static_cast<std::ptrdiff_t>(y) * mcus * plane.across + x),
            static_cast<std::size_t>(plane.across)};
      }
    }
  }
  return entropy_.skip(static_cast<std::size_t>(first_mcu_)) &&
         entropy_.decode(static_cast<std::size_t>(mcus), blocks) &&
         entropy_.skip(static_cast<std::size_t>(mcus_across_ - end_mcu_));
}

/// The same for a progressive file, or an entry.
bool JpegWindowDecoder::take_blocks() {
  for (std::size_t i = 0; i < plane_count_; ++i) {
    Plane& plane = planes_[i];
    const auto count = static_cast<std::size_t>((end_mcu_ - first_mcu_) * plane.across);
    for (std::int32_t y = 0; y < plane.down; ++y) {
      const std::span blocks(plane.blocks.data() + static_cast<std::size_t>(y) * count, count);
      const auto row = static_cast<std::size_t>(mcu_rows_done_ * plane.down + y);
      const auto first = static_cast<std::size_t>(first_mcu_ * plane.across);
      if (kept_ != nullptr) {
        kept_->take(i, row, first, blocks);
      } else if (!progressive_.take(i, row, first, blocks)) {
        return false;
      }
    }
  }
  return true;
}

bool JpegWindowDecoder::decode_mcu_row() {
  if (!(kept_ != nullptr || is_progressive_ ? take_blocks() : decode_blocks())) return false;
  const std::int32_t mcus = end_mcu_ - first_mcu_;
  for (std::size_t i = 0; i < plane_count_; ++i) {
    Plane& plane = planes_[i];
    const auto count = static_cast<std::size_t>(mcus * plane.across);
    for (std::int32_t y = 0; y < plane.down; ++y) {
      const std::int32_t row = (mcu_rows_done_ % 2 * plane.down + y) * jpeg_block_side;
      const JpegBlock& first = plane.blocks[static_cast<std::size_t>(y) * count];
      jpeg_inverse_dct(first.coefficients.data(), count,
                       plane.samples.data() + static_cast<std::size_t>(row) * plane.stride,
                       plane.stride);
    }
  }
  ++mcu_rows_done_;
  return true;
}

/// Row `y` of the image in a chroma component, from the range's first sample on.
const std::uint8_t* JpegWindowDecoder::upsampled(const Plane& plane, std::int32_t y,
                                                 std::uint8_t* room) const noexcept {
  const bool across = mcu_width_ > jpeg_block_side;
  const std::int32_t column = range_.first - first_mcu_ * jpeg_block_side;
  if (mcu_height_ == jpeg_block_side) {
    const std::uint8_t* const row = plane.row(y) + column;
    if (!across) return row;
    jpeg_upsample_h2v1(row, range_.count, room);
    return room;
  }
  const bool is_lower = y % 2 != 0;
  const std::int32_t near = y / 2;
  const std::int32_t far = std::clamp(is_lower ? near + 1 : near - 1, 0, plane.height - 1);
  const std::uint8_t* const near_row = plane.row(near) + column;
  const std::uint8_t* const far_row = plane.row(far) + column;
  if (across) {
    jpeg_upsample_h2v2(near_row, far_row, range_.count, room);
  } else {
    jpeg_upsample_h1v2(near_row, far_row, is_lower ? 2 : 1, range_.count, room);
  }
  return room;
}

bool JpegWindowDecoder::read_row(std::uint8_t* rgb) {
  const std::int32_t y = next_row_++;
  while (mcu_rows_done_ <= mcu_row_for(y)) {
    if (!decode_mcu_row()) return false;
  }
  const auto width = static_cast<std::size_t>(window_.width);
  const std::uint8_t* const luma = planes_[0].row(y) + (window_.x - first_mcu_ * mcu_width_);
  if (plane_count_ == 1) {
    jpeg_rgb_from_gray(luma, width, rgb);
    return true;
  }
  const std::int32_t skip = mcu_width_ > jpeg_block_side ? window_.x - 2 * range_.first : 0;
  const std::uint8_t* const blue = upsampled(planes_[1], y, chroma_rows_[0].data());
  const std::uint8_t* const red = upsampled(planes_[2], y, chroma_rows_[1].data());
  jpeg_rgb_from_ycc(luma, blue + skip, red + skip, width, rgb);
  return true;
}

void JpegWindowDecoder::shed() noexcept {
  for (Plane& plane : planes_) {
    shed_if_large(plane.samples);
    shed_if_large(plane.blocks);
  }
  progressive_.shed();
}

}  // namespace batchcast::inline v0_1::detail
