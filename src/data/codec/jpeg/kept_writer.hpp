// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "data/codec/jpeg/entropy.hpp"
#include "data/codec/jpeg/kept_blocks.hpp"
#include "data/codec/jpeg/progressive.hpp"

namespace batchcast::inline v0_1::detail {

/// Makes entries of JPEG files, one after the other; each thread has one.
class KeptWriter {
 public:
  /// The entry of a file, with kept_slack bytes behind it, valid until the next call. Empty where
  /// our decoder would not take all of the file: anything in it is irregular or unusual, or it is
  /// larger than `pixels_max`.
  [[nodiscard]] std::span<const std::byte> write(std::span<const std::byte> file,
                                                 std::int64_t pixels_max);

 private:
  [[nodiscard]] bool write_all(std::span<const std::byte> file);
  [[nodiscard]] bool pack_baseline();
  [[nodiscard]] bool write_baseline();
  [[nodiscard]] bool write_progressive();
  /// Appends a row of blocks. False where a product does not fit into 16 bits.
  [[nodiscard]] bool add_row(std::size_t component, const JpegBlock* blocks, std::size_t count);
  void begin_row(KeptRow& row, std::size_t number, std::size_t columns);
  [[nodiscard]] bool end_row(const KeptRow& row, std::size_t number, std::size_t columns);
  void note_row() noexcept;
  [[nodiscard]] std::uint8_t* room_for(std::size_t bytes);

  JpegHeader header_;
  JpegEntropyDecoder entropy_;
  JpegProgressiveDecoder progressive_;
  std::array<KeptQuantizer, 3> quantizers_;
  std::array<std::vector<JpegBlock>, 3> blocks_;                                  // of an MCU row
  std::array<std::vector<std::uint8_t>, JpegEntropyDecoder::blocks_max> packed_;  // the same
  std::size_t mcu_columns_ = 0;
  std::size_t mcu_rows_ = 0;
  std::size_t rows_done_ = 0;
  std::vector<std::uint8_t> out_;
  std::size_t size_ = 0;  // of the entry so far; `out_` is as large as the largest was
};

}  // namespace batchcast::inline v0_1::detail
