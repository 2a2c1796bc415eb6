// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "data/codec/jpeg/bitstream.hpp"
#include "data/codec/jpeg/entropy.hpp"
#include "data/codec/jpeg/huffman.hpp"

namespace batchcast::inline v0_1::detail {

/// Decodes all scans of a progressive file, since the last one may change any of its blocks. Then
/// it gives out blocks. Any irregularity ends it.
class JpegProgressiveDecoder {
 public:
  /// `header` must stay valid only for the call; `file` is the file that it was read from. False:
  /// not for this decoder.
  [[nodiscard]] bool start(const JpegHeader& header, std::span<const std::byte> file);

  /// Copies blocks of a component, dequantised, from `first` on in its block row `row`. False where
  /// a coefficient takes more than 16 bits.
  [[nodiscard]] bool take(std::size_t component, std::size_t row, std::size_t first,
                          std::span<JpegBlock> blocks) const noexcept;

  /// All blocks of a component's block row, of whole MCUs, not dequantised.
  [[nodiscard]] std::span<const JpegBlock> row(std::size_t component,
                                               std::size_t row) const noexcept {
    const Component& from = components_[component];
    return std::span(from.blocks).subspan(row * from.columns, from.columns);
  }

  /// Frees buffers that an image far larger than others has grown.
  void shed() noexcept;

 private:
  struct Engine;  // the loops

  struct Component {
    std::size_t across = 1;  ///< blocks in an MCU of several components
    std::size_t down = 1;
    std::size_t columns = 0;        ///< of blocks, whole MCUs
    std::size_t image_columns = 0;  ///< that show some of the image: a scan of it alone has these
    std::size_t image_rows = 0;
    std::array<std::int16_t, 64> quantizer{};  ///< in natural order
    std::vector<JpegBlock> blocks;             ///< not dequantised
    /// For each block: bit k is set where the zigzag order's coefficient k > 0 is not zero.
    std::vector<std::uint64_t> nonzero;
  };

  [[nodiscard]] bool plan(const JpegHeader& header, std::size_t file_bytes);

  JpegHuffmanCache tables_;
  JpegScanBytes bytes_;
  std::vector<JpegScan> scans_;
  std::size_t mcu_rows_ = 0;
  std::size_t mcu_columns_ = 0;
  std::array<Component, 3> components_;
};

}  // namespace batchcast::inline v0_1::detail
