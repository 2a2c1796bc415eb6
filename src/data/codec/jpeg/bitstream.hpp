// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/data/geometry.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// The bytes of a JPEG file: its markers, and its scans without stuffing.
namespace batchcast::inline v0_1::detail {

struct JpegComponent {
  std::uint8_t id = 0;
  int across = 1;  ///< sampling factors: blocks in an MCU
  int down = 1;
  std::array<std::uint16_t, 64> quantizer{};  ///< in zigzag order
  /// In a baseline file, as there: how many codes of 1 to 16 bits there are, then their symbols.
  std::span<const std::uint8_t> dc_codes;
  std::span<const std::uint8_t> ac_codes;
};

/// A file of 8 bits with Huffman codes: baseline with one scan that has all components, or
/// progressive. Points into the file.
struct JpegHeader {
  ImageSize size;
  int orientation = 1;
  bool is_progressive = false;
  int component_count = 0;  ///< 1: gray; 3: YCbCr, luma of 1 or 2 x 1 or 2
  std::array<JpegComponent, 3> components;
  std::uint32_t restart_interval = 0;  ///< of a baseline file; in MCUs; 0: no restart markers
  std::span<const std::uint8_t> scan;  ///< the first; up to the file's end
};

/// Fills `header` from a file of the kind that it describes, if nothing up to its (first) scan is
/// unusual. False for every other file, good or bad.
[[nodiscard]] bool read_jpeg_header(std::span<const std::byte> file, JpegHeader& header);

/// One scan of a progressive file: some bits of some coefficients. Points into the file.
struct JpegScan {
  std::size_t component_count = 0;  ///< 1 where it is not of DC coefficients
  std::array<std::size_t, 3> components{};
  std::uint32_t first = 0;  ///< coefficient, in zigzag order: 0, or not
  std::uint32_t last = 0;
  std::uint32_t lowest_bit = 0;
  bool refines = false;  ///< brings that bit alone; else all from there on up
  /// As in the file; may be empty where the scan needs none. Tables for DC are listed by component.
  std::array<std::span<const std::uint8_t>, 3> dc_codes;
  std::span<const std::uint8_t> ac_codes;
  std::uint32_t restart_interval = 0;
  std::span<const std::uint8_t> bytes;  ///< up to the file's end
};

/// The scans of a progressive file with a header such as above. Nothing unusual may lie between
/// them. Each bit of each coefficient must come once, higher ones before lower ones and DC before
/// AC. All must have come when the file ends.
[[nodiscard]] bool read_jpeg_scans(std::span<const std::byte> file, std::vector<JpegScan>& scans);

/// A scan without stuffed zeros, segment by segment (between restart markers), each a chunk at a
/// time. After each MCU, `settle` checks and refills.
class JpegScanBytes {
 public:
  /// More than any MCU takes: six blocks, each of 64 coefficients of at most 31 bits.
  static constexpr std::size_t mcu_bytes_max = 1536;

  /// `scan` must stay valid. Returns where the first segment begins.
  const std::uint8_t* open(std::span<const std::uint8_t> scan);

  /// An MCU may begin up to here without a call of `settle`.
  [[nodiscard]] const std::uint8_t* refill_limit() const noexcept { return refill_limit_; }

  /// Makes room for the next MCU at `next`; of the bits before it, `ahead` are not used yet. It may
  /// move the bytes there, and `next` with them. False where more was used than exists.
  [[nodiscard]] bool settle(const std::uint8_t*& next, unsigned ahead);

  /// Begins the segment after restart marker `index`, if the segment before is used up and the
  /// marker comes next.
  [[nodiscard]] bool restart(const std::uint8_t*& next, unsigned ahead, unsigned index);

  /// Whether the segment is used up, and a marker follows it.
  [[nodiscard]] bool is_used_up(const std::uint8_t* next, unsigned ahead) const noexcept;

 private:
  void fill(const std::uint8_t*& next);

  std::span<const std::uint8_t> raw_;  // what is not copied yet
  std::vector<std::uint8_t> clean_;
  std::size_t clean_size_ = 0;
  std::ptrdiff_t usable_size_ = 0;  // once the segment has ended
  std::uint8_t marker_ = 0;         // that ended it
  bool segment_ended_ = false;
  const std::uint8_t* refill_limit_ = nullptr;
};

}  // namespace batchcast::inline v0_1::detail
