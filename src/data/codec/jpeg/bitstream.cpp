// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/codec/jpeg/bitstream.hpp"

#include <algorithm>
#include <cstring>

namespace batchcast::inline v0_1::detail {
namespace {

constexpr std::size_t chunk_bytes = std::size_t{16} << 10U;
constexpr std::uint8_t marker_start = 0xFF;
// libjpeg reads up to eight bytes ahead, which may be stuffed. A file that ends there is truncated.
constexpr std::ptrdiff_t read_ahead_bytes_max = 16;

}  // namespace

const std::uint8_t* JpegScanBytes::open(std::span<const std::uint8_t> scan) {
  clean_.resize(chunk_bytes + mcu_bytes_max + sizeof(std::uint64_t));
  raw_ = scan;
  clean_size_ = 0;
  segment_ended_ = false;
  const std::uint8_t* next = clean_.data();
  fill(next);
  return next;
}

void JpegScanBytes::fill(const std::uint8_t*& next) {
  std::uint8_t* const first = clean_.data();
  const auto used = static_cast<std::size_t>(next - first);
  std::memmove(first, next, clean_size_ - used);
  clean_size_ -= used;
  next = first;
  while (clean_size_ < chunk_bytes && !segment_ended_) {
    const std::size_t count = std::min(raw_.size(), chunk_bytes - clean_size_);
    const void* const found = count > 0 ? std::memchr(raw_.data(), marker_start, count) : nullptr;
    const std::size_t plain =
        found ? static_cast<std::size_t>(static_cast<const std::uint8_t*>(found) - raw_.data())
              : count;
    if (plain > 0) std::memcpy(first + clean_size_, raw_.data(), plain);
    clean_size_ += plain;
    raw_ = raw_.subspan(plain);
    if (!found && !raw_.empty()) continue;
    if (raw_.size() >= 2 && raw_[1] == 0) {
      first[clean_size_++] = marker_start;
      raw_ = raw_.subspan(2);
      continue;
    }
    segment_ended_ = true;
    marker_ = raw_.size() >= 2 ? raw_[1] : marker_start;
  }
  if (segment_ended_) {
    const bool at_marker = marker_ != marker_start;
    usable_size_ =
        static_cast<std::ptrdiff_t>(clean_size_) - (at_marker ? 0 : read_ahead_bytes_max);
    std::memset(first + clean_size_, 0, mcu_bytes_max + sizeof(std::uint64_t));
  }
  refill_limit_ =
      first + (clean_size_ > mcu_bytes_max ? clean_size_ - mcu_bytes_max : std::size_t{0});
}

bool JpegScanBytes::settle(const std::uint8_t*& next, unsigned ahead) {
  if (!segment_ended_) fill(next);
  if (!segment_ended_) return true;
  return 8 * (next - clean_.data()) - static_cast<std::ptrdiff_t>(ahead) <= 8 * usable_size_;
}

bool JpegScanBytes::is_used_up(const std::uint8_t* next, unsigned ahead) const noexcept {
  if (!segment_ended_ || marker_ == marker_start) return false;
  const std::ptrdiff_t bits_left =
      8 * usable_size_ - 8 * (next - clean_.data()) + static_cast<std::ptrdiff_t>(ahead);
  return bits_left >= 0 && bits_left < 8;
}

bool JpegScanBytes::restart(const std::uint8_t*& next, unsigned ahead, unsigned index) {
  if (!is_used_up(next, ahead) || marker_ != 0xD0 + index) return false;
  raw_ = raw_.subspan(2);
  segment_ended_ = false;
  clean_size_ = 0;
  next = clean_.data();
  fill(next);
  return true;
}

}  // namespace batchcast::inline v0_1::detail
