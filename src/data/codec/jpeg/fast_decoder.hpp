// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/data/geometry.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "data/codec/jpeg/entropy.hpp"
#include "data/codec/jpeg/kept_reader.hpp"
#include "data/codec/jpeg/progressive.hpp"

namespace batchcast::inline v0_1::detail {

/// The rows of a window of a JPEG, with the bytes that libjpeg-turbo makes. It gives up on any
/// irregularity in what libjpeg would read for the same rows. Of a baseline file that is the MCU
/// rows down to there, of a progressive one it is everything.
class JpegWindowDecoder {
 public:
  /// `header` must stay valid, as must `file`, which it was read from. False: not for this decoder.
  [[nodiscard]] bool start(const JpegHeader& header, std::span<const std::byte> file,
                           const Box& window);

  /// The same for an entry of kept coefficients. False where it is none, or damaged.
  [[nodiscard]] bool start_kept(const JpegHeader& header, KeptReader& kept, const Box& window);

  /// Writes the window's next row, 3 × width bytes, and arbitrary bytes in the jpeg_row_slack after
  /// it. False: the scan is irregular.
  [[nodiscard]] bool read_row(std::uint8_t* rgb);

  /// Frees buffers that an image far larger than others has grown.
  void shed() noexcept;

 private:
  /// A component's samples of two MCU rows, in turns, and the blocks of the present MCU row.
  struct Plane {
    std::int32_t across = 1;
    std::int32_t down = 1;
    std::int32_t height = 0;  // of the image, in samples
    std::size_t stride = 0;
    std::vector<std::uint8_t> samples;
    std::vector<JpegBlock> blocks;

    [[nodiscard]] const std::uint8_t* row(std::int32_t y) const noexcept;
  };

  /// Samples of the upsampled components that a row of the window is made from.
  struct Range {
    std::int32_t first = 0;
    std::size_t count = 0;
  };

  void plan(const JpegHeader& header, const Box& window);
  void plan_columns(const JpegHeader& header);
  void size_planes();
  [[nodiscard]] std::int32_t mcu_row_for(std::int32_t y) const noexcept;
  [[nodiscard]] bool decode_mcu_row();
  [[nodiscard]] bool decode_blocks();
  [[nodiscard]] bool take_blocks();
  [[nodiscard]] const std::uint8_t* upsampled(const Plane& plane, std::int32_t y,
                                              std::uint8_t* room) const noexcept;

  JpegEntropyDecoder entropy_;
  JpegProgressiveDecoder progressive_;
  KeptReader* kept_ = nullptr;  // has the blocks, where it is an entry
  bool is_progressive_ = false;
  Box window_;
  std::int32_t next_row_ = 0;

  std::int32_t mcu_width_ = 8;
  std::int32_t mcu_height_ = 8;
  std::int32_t mcus_across_ = 0;
  std::int32_t mcus_down_ = 0;
  std::int32_t first_mcu_ = 0;  // of MCUs left and right of the window only the DC's
  std::int32_t end_mcu_ = 0;    // predictions are read
  std::int32_t mcu_rows_done_ = 0;

  std::size_t plane_count_ = 0;
  std::array<Plane, 3> planes_;
  Range range_;
  std::array<std::vector<std::uint8_t>, 2> chroma_rows_;
};

}  // namespace batchcast::inline v0_1::detail
