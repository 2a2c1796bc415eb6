// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "data/codec/jpeg/bitstream.hpp"
#include "data/codec/jpeg/huffman.hpp"

namespace batchcast::inline v0_1::detail {

/// Coefficients, dequantised, in natural order.
struct alignas(64) JpegBlock {
  std::array<std::int16_t, 64> coefficients;
};

struct KeptRow;  // kept_blocks.hpp

/// Where the blocks of one position within an MCU go.
struct JpegBlocks {
  JpegBlock* first = nullptr;
  std::size_t step = 0;  ///< from one MCU's block to the next MCU's
};

/// Decodes a scan, MCU after MCU. Any irregularity ends it. Then the blocks of that call are of no
/// use, and the decoder has to `start` again.
class JpegEntropyDecoder {
 public:
  static constexpr std::size_t blocks_max = 6;

  /// `header` must stay valid, as must its file. False where a code is none.
  [[nodiscard]] bool start(const JpegHeader& header);

  [[nodiscard]] std::size_t blocks_in_mcu() const noexcept { return block_count_; }

  /// Skips MCUs.
  [[nodiscard]] bool skip(std::size_t mcus);

  /// `blocks`: for each block of an MCU.
  [[nodiscard]] bool decode(std::size_t mcus, const std::array<JpegBlocks, blocks_max>& blocks);

  /// Decodes MCUs and appends their blocks to rows of the kept form, without dequantising them.
  /// `rows`: for each block of an MCU. Only where kept_has_vbmi(). False also where a row cannot
  /// have a block.
  [[nodiscard]] bool pack(std::size_t mcus, const std::array<KeptRow*, blocks_max>& rows);

 private:
  struct Engine;  // the loops
  struct Bmi;

  /// The 64 coefficients, and how far a run may reach beyond them.
  static constexpr std::size_t steps_max = 64 + 16;

  struct Component {
    const JpegHuffmanTable* dc = nullptr;
    const JpegHuffmanTable* ac = nullptr;
    const std::uint64_t* pairs = nullptr;  ///< of `ac`, or none
    std::array<std::uint16_t, steps_max> quantizer{};
    std::int32_t prediction = 0;
  };

  [[nodiscard]] bool run(std::size_t mcus, const JpegBlocks* blocks);
  [[nodiscard]] bool restart();

  JpegHuffmanCache tables_;
  JpegScanBytes bytes_;
  std::array<Component, 3> components_;
  std::array<Component*, blocks_max> component_of_{};  // by block of an MCU
  std::size_t block_count_ = 0;
  std::size_t restart_interval_ = 0;
  std::size_t until_restart_ = 0;
  unsigned restart_index_ = 0;

  // The next bits of the scan, from the top of `window_`. `count_` of them are counted; the bits
  // below are the beginning of what `next_` points to.
  std::uint64_t window_ = 0;
  std::uint64_t count_ = 0;
  const std::uint8_t* next_ = nullptr;
};

}  // namespace batchcast::inline v0_1::detail
