// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <array>
#include <numeric>

#include "data/codec/image_support.hpp"

namespace image_test {

/// Writes progressive JPEGs that are right, but that no encoder writes: bits at random of
/// everything that a decoder has to follow. Values have up to 15 bits, a band begins with up to 13
/// bits left out, runs of ended blocks reach beyond a restart or the last block, components come in
/// any order and any groups, codes have any lengths, and are other ones in each scan, as is the
/// restart interval. Bits of blocks that only fill MCUs up are random, too. In one file of eight
/// coefficients exceed 16 bits, and wrap around in libjpeg.
class ProgressiveWriter {
 public:
  explicit ProgressiveWriter(Random& random) : random_(random) {}

  Bytes write() {
    const int side = chance(20) ? 300 : 50;
    size_ = {between(random_, 1, side), between(random_, 1, side)};
    planes_.assign(chance(6) ? 1 : 3, {});
    if (planes_.size() == 3) {
      planes_[0].across = between(random_, 1, 2);
      planes_[0].down = between(random_, 1, 2);
    }
    for (Plane& plane : planes_) plan(plane);
    wraps_ = chance(8);
    file_ = {0xFF, 0xD8};
    write_header();
    write_scans();
    file_.insert(file_.end(), {0xFF, 0xD9});
    return std::move(file_);
  }

  [[nodiscard]] bc::ImageSize size() const { return size_; }

 private:
  using Block = std::array<std::int16_t, 64>;  // zigzag

  struct Plane {
    int across = 1;
    int down = 1;
    int columns = 0;
    int image_columns = 0;
    int image_rows = 0;
    std::vector<Block> blocks;

    Block& block(int row, int column) {
      return blocks[static_cast<std::size_t>(row * columns + column)];
    }
  };

  /// A band of some components' coefficients, which takes a scan for each bit from `bit` down.
  struct Band {
    std::vector<int> planes;
    int first = 0;
    int last = 0;
    int bit = 0;
    bool begun = false;
  };

  struct Codes {
    std::vector<int> symbols;
    std::array<int, 256> length{};
    std::array<unsigned, 256> code{};
    Bytes in_file;
  };

  bool chance(unsigned one_in) { return random_() % one_in == 0; }

  static int divided_up(int value, int by) { return (value + by - 1) / by; }
  [[nodiscard]] int mcu_columns() const { return divided_up(size_.width, 8 * planes_[0].across); }
  [[nodiscard]] int mcu_rows() const { return divided_up(size_.height, 8 * planes_[0].down); }

  void plan(Plane& plane) {
    plane.columns = mcu_columns() * plane.across;
    plane.image_columns = divided_up(size_.width * plane.across, 8 * planes_[0].across);
    plane.image_rows = divided_up(size_.height * plane.down, 8 * planes_[0].down);
    plane.blocks.assign(static_cast<std::size_t>(plane.columns * mcu_rows() * plane.down), {});
  }

  void put_segment(int marker, const std::vector<int>& content) {
    const auto size = static_cast<int>(content.size()) + 2;
    for (const int byte : {0xFF, marker, size >> 8, size & 255}) put_byte(byte);
    for (const int byte : content) put_byte(byte);
  }
  void put_byte(int byte) { file_.push_back(static_cast<std::uint8_t>(byte)); }

  void write_header() {
    const int quantizer_max = chance(2) ? 1 : chance(2) ? 40 : 65535;
    std::vector<int> quantizers{0x10};  // 16 bits
    for (int i = 0; i < 64; ++i) {
      const int quantizer = between(random_, 1, quantizer_max);
      quantizers.insert(quantizers.end(), {quantizer >> 8, quantizer & 255});
    }
    put_segment(0xDB, quantizers);
    std::vector<int> frame{8,
                           size_.height >> 8,
                           size_.height & 255,
                           size_.width >> 8,
                           size_.width & 255,
                           static_cast<int>(planes_.size())};
    for (const Plane& plane : planes_) {
      const auto id = static_cast<int>(&plane - planes_.data()) + 1;
      frame.insert(frame.end(), {id, plane.across << 4 | plane.down, 0});
    }
    put_segment(0xC2, frame);
  }

  void write_scans() {
    std::vector<Band> bands = dc_bands();
    for (int plane = 0; plane < static_cast<int>(planes_.size()); ++plane) {
      for (int first = 1, last = 0; last < 63; first = last + 1) {
        last = chance(2) ? 63 : between(random_, first, 63);
        bands.push_back({{plane}, first, last, chance(4) ? between(random_, 0, 13) : 1});
      }
    }
    std::array<bool, 3> has_dc{};
    while (!bands.empty()) {
      const std::size_t at = random_() % bands.size();
      Band& band = bands[at];
      if (band.first > 0 && !has_dc[static_cast<std::size_t>(band.planes[0])]) continue;
      for (const int plane : band.planes) has_dc[static_cast<std::size_t>(plane)] = true;
      write_scan(band);
      band.begun = true;
      if (band.bit-- == 0) bands.erase(bands.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }

  std::vector<Band> dc_bands() {
    std::vector<int> order(planes_.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random_);
    std::vector<Band> bands;
    for (const int plane : order) {
      if (bands.empty() || chance(2)) {
        bands.push_back({{}, 0, 0, chance(4) ? between(random_, 0, 13) : 1});
      }
      bands.back().planes.push_back(plane);
    }
    for (Band& band : bands) std::sort(band.planes.begin(), band.planes.end());
    return bands;
  }

  void write_scan(const Band& band) {
    if (chance(4)) {
      restart_interval_ = chance(2) ? 0 : between(random_, 1, 30);
      put_segment(0xDD, {0, restart_interval_});
    }
    const bool is_dc = band.first == 0;
    const int table = between(random_, 0, 3);
    std::vector<int> scan{static_cast<int>(band.planes.size())};
    for (const int plane : band.planes) {
      scan.insert(scan.end(), {plane + 1, is_dc ? table << 4 : table});
    }
    scan.insert(scan.end(),
                {band.first, band.last, (band.begun ? band.bit + 1 : 0) << 4 | band.bit});
    if (!is_dc || !band.begun) {
      make_codes(is_dc ? dc_symbols() : ac_symbols(band.begun));
      std::vector<int> codes{is_dc ? table : 0x10 | table};
      codes.insert(codes.end(), codes_.in_file.begin(), codes_.in_file.end());
      put_segment(0xC4, codes);
    }
    put_segment(0xDA, scan);
    predictions_.fill(0);
    ended_blocks_ = 0;
    write_blocks(band);
    fill_byte();
  }

  std::vector<int> dc_symbols() {
    std::vector<int> symbols{0};
    for (int bits = 1; bits < 16; ++bits) {
      if (chance(2)) symbols.push_back(bits);
    }
    return symbols;
  }

  std::vector<int> ac_symbols(bool refines) {
    std::vector<int> symbols{0};
    const unsigned rarity = chance(3) ? 1 : chance(2) ? 3 : 20;
    for (int symbol = 1; symbol < 256; ++symbol) {
      const bool has_use = !refines || symbol % 16 < 2;
      if (has_use && chance(rarity)) symbols.push_back(symbol);
    }
    return symbols;
  }

  /// Canonical codes of random lengths. The one of all ones stays free, as it has to.
  void make_codes(std::vector<int> symbols) {
    std::shuffle(symbols.begin(), symbols.end(), random_);
    std::vector<int> lengths{0};
    while (lengths.size() < symbols.size() + 1) {
      int& length = lengths[chance(3) ? lengths.size() - 1 : random_() % lengths.size()];
      if (length == 16) continue;
      const int longer = ++length;
      lengths.push_back(longer);
    }
    std::sort(lengths.begin(), lengths.end());
    codes_ = {symbols, {}, {}, Bytes(16)};
    unsigned code = 0;
    for (std::size_t i = 0; i < symbols.size(); ++i) {
      const auto symbol = static_cast<std::size_t>(symbols[i]);
      code <<= lengths[i] - (i > 0 ? lengths[i - 1] : 0);
      codes_.code[symbol] = code++;
      codes_.length[symbol] = lengths[i];
      ++codes_.in_file[static_cast<std::size_t>(lengths[i]) - 1];
      codes_.in_file.push_back(static_cast<std::uint8_t>(symbol));
    }
  }

  void put_bits(unsigned value, int count) {
    for (int i = count - 1; i >= 0; --i) {
      byte_ = byte_ << 1 | (value >> i & 1);
      if (++bits_in_byte_ < 8) continue;
      put_byte(static_cast<int>(byte_ & 255));
      if ((byte_ & 255) == 255) put_byte(0);
      bits_in_byte_ = 0;
    }
  }
  unsigned put_random_bits(int count) {
    const auto value = static_cast<unsigned>(random_() & ((1U << count) - 1));
    put_bits(value, count);
    return value;
  }
  void fill_byte() {
    while (bits_in_byte_ > 0) (void)put_random_bits(1);
  }
  void put_symbol(int symbol) {
    const auto at = static_cast<std::size_t>(symbol);
    put_bits(codes_.code[at], codes_.length[at]);
  }

  void write_blocks(const Band& band) {
    const bool is_alone = band.planes.size() == 1;
    Plane& only = planes_[static_cast<std::size_t>(band.planes[0])];
    const int columns = is_alone ? only.image_columns : mcu_columns();
    const int mcus = columns * (is_alone ? only.image_rows : mcu_rows());
    for (int mcu = 0; mcu < mcus; ++mcu) {
      if (restart_interval_ > 0 && mcu > 0 && mcu % restart_interval_ == 0) {
        fill_byte();
        put_byte(0xFF);
        put_byte(0xD0 + (mcu / restart_interval_ - 1) % 8);
        predictions_.fill(0);
        ended_blocks_ = 0;
      }
      const int row = mcu / columns;
      const int column = mcu % columns;
      if (is_alone) {
        write_block(band, 0, only.block(row, column));
        continue;
      }
      for (std::size_t i = 0; i < band.planes.size(); ++i) {
        Plane& plane = planes_[static_cast<std::size_t>(band.planes[i])];
        for (int block = 0; block < plane.down * plane.across; ++block) {
          write_block(band, i,
                      plane.block(row * plane.down + block / plane.across,
                                  column * plane.across + block % plane.across));
        }
      }
    }
  }

  void write_block(const Band& band, std::size_t component, Block& block) {
    if (band.first > 0) {
      write_ac(band, block);
    } else if (!band.begun) {
      write_dc(band.bit, predictions_[component]);
    } else {
      (void)put_random_bits(1);
    }
  }

  static int value_of(unsigned bits, int count) {
    if (count == 0) return 0;
    const int value = static_cast<int>(bits);
    return bits >> (count - 1) != 0 ? value : value - (1 << count) + 1;
  }

  /// Nothing that the decoder does later depends on what a DC coefficient is.
  void write_dc(int lowest_bit, int& prediction) {
    const int limit = 1 << (15 - lowest_bit);
    for (int attempt = 0;; ++attempt) {
      const int count = attempt < 8 ? codes_.symbols[random_() % codes_.symbols.size()] : 0;
      const auto bits = static_cast<unsigned>(random_() & ((1U << count) - 1));
      const int value = prediction + value_of(bits, count);
      if (!wraps_ && (value < -limit || value >= limit)) continue;
      put_symbol(count);
      put_bits(bits, count);
      prediction = value;
      return;
    }
  }

  void write_ac(const Band& band, Block& block) {
    int at = band.first;
    while (ended_blocks_ == 0 && at <= band.last) {
      const int symbol = some_symbol(band, block, at);
      const int count = symbol % 16;
      int run = symbol / 16;
      put_symbol(symbol);
      const bool ends = count == 0 && run < 15;
      const unsigned bits = put_random_bits(ends ? run : count);
      if (ends) {
        ended_blocks_ = (1 << run) + static_cast<int>(bits);
        break;
      }
      for (; run > 0 || block[static_cast<std::size_t>(at)] != 0; ++at) {
        if (!correct(band.bit, block[static_cast<std::size_t>(at)])) --run;
      }
      block[static_cast<std::size_t>(at++)] =
          static_cast<std::int16_t>(value_of(bits, count) * (1 << band.bit));
    }
    if (ended_blocks_ == 0) return;
    for (; at <= band.last; ++at) correct(band.bit, block[static_cast<std::size_t>(at)]);
    --ended_blocks_;
  }

  /// Whether there was something to correct.
  bool correct(int bit, std::int16_t& coefficient) {
    if (coefficient == 0) return false;
    const int step = (coefficient > 0 ? 1 : -1) * (1 << bit);
    if (put_random_bits(1) != 0) coefficient = static_cast<std::int16_t>(coefficient + step);
    return true;
  }

  /// One that may come at `at`; that the block ends may always come.
  int some_symbol(const Band& band, const Block& block, int at) {
    const auto zeros = std::count(block.begin() + at, block.begin() + band.last + 1, 0);
    for (int attempt = 0; attempt < 20; ++attempt) {
      const int symbol = codes_.symbols[random_() % codes_.symbols.size()];
      const int count = symbol % 16;
      const int run = symbol / 16;
      if (count == 0 && run < 15) return symbol;
      if (run < zeros && (wraps_ || count + (band.begun ? 0 : band.bit) <= 15)) return symbol;
    }
    return 0;
  }

  Random& random_;
  bc::ImageSize size_;
  bool wraps_ = false;
  std::vector<Plane> planes_;
  Bytes file_;
  int restart_interval_ = 0;
  Codes codes_;
  std::array<int, 3> predictions_{};
  int ended_blocks_ = 0;
  unsigned byte_ = 0;
  int bits_in_byte_ = 0;
};

}  // namespace image_test
