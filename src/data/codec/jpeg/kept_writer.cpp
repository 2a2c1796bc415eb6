// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/codec/jpeg/kept_writer.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "data/codec/codec.hpp"
#include "data/codec/jpeg/block_grid.hpp"
#include "data/codec/jpeg/kept_form.hpp"
#include "data/codec/jpeg/kept_vbmi.hpp"

namespace batchcast::inline v0_1::detail {
std::span<const std::byte> KeptWriter::write(std::span<const std::byte> file,
                                             std::int64_t pixels_max) {
  bool is_whole = read_jpeg_header(file, header_);
  is_whole = is_whole && std::int64_t{header_.size.width} * header_.size.height <= pixels_max &&
             file.size() <= std::numeric_limits<std::uint32_t>::max() && write_all(file);
  for (auto& blocks : blocks_) shed_if_large(blocks);
  for (auto& row : packed_) shed_if_large(row);
  progressive_.shed();
  if (!is_whole) {
    shed_if_large(out_);
    return {};
  }
  return std::as_bytes(std::span(out_.data(), size_));
}

bool KeptWriter::write_all(std::span<const std::byte> file) {
  const JpegComponent& luma = header_.components[0];
  const auto blocks_of = [](std::int32_t samples, std::int32_t in_block) {
    return static_cast<std::size_t>(jpeg_divided_up(samples, in_block * jpeg_block_side));
  };
  mcu_columns_ = blocks_of(header_.size.width, luma.across);
  mcu_rows_ = blocks_of(header_.size.height, luma.down);
  KeptHead head;
  head.file_bytes = static_cast<std::uint32_t>(file.size());
  head.width = static_cast<std::uint16_t>(header_.size.width);
  head.height = static_cast<std::uint16_t>(header_.size.height);
  head.orientation = static_cast<std::uint8_t>(header_.orientation);
  head.component_count = static_cast<std::uint8_t>(header_.component_count);
  head.across = static_cast<std::uint8_t>(luma.across);
  head.down = static_cast<std::uint8_t>(luma.down);
  std::size_t rows_in_mcu = 0;
  for (std::size_t i = 0; i < head.component_count; ++i) {
    head.quantizers[i] = header_.components[i].quantizer;
    quantizers_[i].set(head.quantizers[i]);
    rows_in_mcu += static_cast<std::size_t>(header_.components[i].down);
  }
  rows_done_ = size_ = 0;
  const std::size_t offsets = sizeof(std::uint32_t) * (mcu_rows_ * rows_in_mcu + 1);
  (void)room_for(sizeof head + offsets);
  size_ = sizeof head + offsets;
  const auto write_blocks = [&] {
    if (header_.is_progressive) return progressive_.start(header_, file) && write_progressive();
    return kept_has_vbmi() ? pack_baseline() : write_baseline();
  };
  if (!write_blocks()) return false;
  if (size_ > std::numeric_limits<std::uint32_t>::max()) return false;
  head.byte_count = static_cast<std::uint32_t>(size_);
  (void)room_for(kept_slack);
  std::memset(out_.data() + size_, 0, kept_slack);
  std::memcpy(out_.data(), &head, sizeof head);
  std::memcpy(out_.data() + sizeof head + sizeof(std::uint32_t) * rows_done_, &head.byte_count,
              sizeof head.byte_count);
  return true;
}

/// Without blocks of 16 bits between decoding and packing.
bool KeptWriter::pack_baseline() {
  if (!entropy_.start(header_)) return false;
  std::array<KeptRow, JpegEntropyDecoder::blocks_max> rows;  // of an MCU row
  std::array<std::size_t, JpegEntropyDecoder::blocks_max> columns{};
  std::array<KeptRow*, JpegEntropyDecoder::blocks_max> row_of{};
  std::size_t row_count = 0;
  std::size_t position = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(header_.component_count); ++i) {
    const JpegComponent& component = header_.components[i];
    for (int y = 0; y < component.down; ++y, ++row_count) {
      columns[row_count] = mcu_columns_ * static_cast<std::size_t>(component.across);
      rows[row_count].quantizer = &quantizers_[i];
      for (int x = 0; x < component.across; ++x) row_of[position++] = &rows[row_count];
    }
  }
  for (std::size_t mcu_row = 0; mcu_row < mcu_rows_; ++mcu_row) {
    for (std::size_t i = 0; i < row_count; ++i) begin_row(rows[i], i, columns[i]);
    if (!entropy_.pack(mcu_columns_, row_of)) return false;
    for (std::size_t i = 0; i < row_count; ++i) {
      if (!end_row(rows[i], i, columns[i])) return false;
    }
  }
  return true;
}

void KeptWriter::begin_row(KeptRow& row, std::size_t number, std::size_t columns) {
  const std::size_t bytes = (2 + kept_dc_max + kept_body_max) * columns + kept_slack;
  if (packed_[number].size() < bytes) packed_[number].resize(bytes);
  row.head = packed_[number].data();
  row.length = row.head + columns;
  row.dc = row.length + columns;
  row.body = row.dc + kept_dc_max * columns;
  row.before = 0;
}

/// Appends what was packed.
bool KeptWriter::end_row(const KeptRow& row, std::size_t number, std::size_t columns) {
  const std::uint8_t* const heads = packed_[number].data();
  const std::uint8_t* const dcs = heads + 2 * columns;
  const std::uint8_t* const bodies = dcs + kept_dc_max * columns;
  const auto dc_bytes = static_cast<std::uint16_t>(row.dc - dcs);
  const auto body_bytes = static_cast<std::size_t>(row.body - bodies);
  std::uint8_t* to = room_for(sizeof dc_bytes + 2 * columns + dc_bytes + body_bytes);
  note_row();
  size_ += sizeof dc_bytes + 2 * columns + dc_bytes + body_bytes;
  std::memcpy(to, &dc_bytes, sizeof dc_bytes);
  to += sizeof dc_bytes;
  std::memcpy(to, heads, 2 * columns + dc_bytes);
  std::memcpy(to + 2 * columns + dc_bytes, bodies, body_bytes);
  return size_ <= std::numeric_limits<std::uint32_t>::max();
}

bool KeptWriter::write_baseline() {
  JpegHeader plain = header_;  // whose coefficients come as they are in the file
  for (JpegComponent& component : plain.components) component.quantizer.fill(1);
  if (!entropy_.start(plain)) return false;
  std::array<JpegBlocks, JpegEntropyDecoder::blocks_max> places;
  std::size_t position = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(header_.component_count); ++i) {
    const auto across = static_cast<std::size_t>(header_.components[i].across);
    const auto down = static_cast<std::size_t>(header_.components[i].down);
    const std::size_t columns = mcu_columns_ * across;
    if (blocks_[i].size() < columns * down) blocks_[i].resize(columns * down);
    for (std::size_t y = 0; y < down; ++y) {
      for (std::size_t x = 0; x < across; ++x) {
        places[position++] = {blocks_[i].data() + y * columns + x, across};
      }
    }
  }
  for (std::size_t row = 0; row < mcu_rows_; ++row) {
    if (!entropy_.decode(mcu_columns_, places)) return false;
    for (std::size_t i = 0; i < static_cast<std::size_t>(header_.component_count); ++i) {
      const std::size_t columns =
          mcu_columns_ * static_cast<std::size_t>(header_.components[i].across);
      for (std::size_t y = 0; y < static_cast<std::size_t>(header_.components[i].down); ++y) {
        if (!add_row(i, blocks_[i].data() + y * columns, columns)) return false;
      }
    }
  }
  return true;
}

bool KeptWriter::write_progressive() {
  for (std::size_t row = 0; row < mcu_rows_; ++row) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(header_.component_count); ++i) {
      const auto down = static_cast<std::size_t>(header_.components[i].down);
      for (std::size_t y = 0; y < down; ++y) {
        const std::span<const JpegBlock> blocks = progressive_.row(i, row * down + y);
        if (!add_row(i, blocks.data(), blocks.size())) return false;
      }
    }
  }
  return true;
}

bool KeptWriter::add_row(std::size_t component, const JpegBlock* blocks, std::size_t count) {
  constexpr std::size_t begin = sizeof(std::uint16_t);
  std::uint8_t* const row =
      room_for(begin + (2 + kept_dc_max + kept_body_max) * count + kept_slack);
  note_row();
  std::uint8_t* const heads = row + begin;
  std::uint8_t* const dcs = heads + 2 * count;
  KeptRow packed{.dc = dcs};
  for (std::size_t i = 0; i < count; ++i) packed.add_dc(blocks[i].coefficients[0]);
  std::uint8_t* const bodies = packed.dc;
  const auto dc_bytes = static_cast<std::uint16_t>(bodies - dcs);
  std::memcpy(row, &dc_bytes, sizeof dc_bytes);
  const auto bytes =
      pack_kept_blocks(blocks, count, quantizers_[component], heads, heads + count, bodies);
  if (!bytes) return false;
  size_ += static_cast<std::size_t>(bodies - row) + *bytes;
  return size_ <= std::numeric_limits<std::uint32_t>::max();
}

/// The next row begins where the entry ends so far.
void KeptWriter::note_row() noexcept {
  const auto offset = static_cast<std::uint32_t>(size_);
  std::memcpy(out_.data() + sizeof(KeptHead) + sizeof offset * rows_done_, &offset, sizeof offset);
  ++rows_done_;
}

/// Where the entry goes on; may move what is there.
std::uint8_t* KeptWriter::room_for(std::size_t bytes) {
  if (out_.size() < size_ + bytes) out_.resize(std::max(size_ + bytes, out_.size() * 3 / 2));
  return out_.data() + size_;
}

}  // namespace batchcast::inline v0_1::detail
