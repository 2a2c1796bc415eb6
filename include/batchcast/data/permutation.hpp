// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/language.hpp>

#include <batchcast/core/assert.hpp>
#include <batchcast/data/random.hpp>

#include <bit>
#include <cstdint>

// A keyed permutation with random access in both directions and no list of indices anywhere.
namespace batchcast::inline v0_1 {

inline constexpr std::uint64_t samples_per_epoch_max = std::uint64_t{1} << 48;

/// A permutation of [0, n), chosen by a 64-bit key. It takes six words for any n; every member is a
/// pure function and may be called from any thread.
///
/// Up to 16 elements it is a shuffle that the key determines, packed into one word: all n! occur
/// equally often. Above, it is a Feistel network over a domain of `high_count` × 2^`low_bits`,
/// walked until it lands in [0, n). That domain is the smallest such product ≥ n with halves of
/// about the same size. It is less than 2^`low_bits` larger than n, so that a second step is rare.
/// The numbers of rounds are measured. Below 4,096 that was by positions, pairs and triples over
/// millions of keys at sizes from 17 to 257. Above, it was by offsets and neighbours within single
/// epochs.
class Permutation {
 public:
  /// n has to be in [1, samples_per_epoch_max].
  Permutation(std::uint64_t n, std::uint64_t key) noexcept : n_(n) {
    BATCHCAST_ASSERT(n >= 1 && n <= samples_per_epoch_max);
    key_ = detail::mix64((key ^ 0x6f72646572) + n * detail::golden_ratio);
    factor_ = detail::mix64(key_ + detail::golden_ratio);
    if (n <= packed_max) {
      packed_ = pack_shuffled(n, key_);
      return;
    }
    rounds_ = n < 4096 ? 12 : 8;
    split();
  }

  [[nodiscard]] static Permutation identity(std::uint64_t n) noexcept {
    Permutation result(n, 0);
    result.packed_ = packed_identity;
    result.rounds_ = 0;
    return result;
  }

  [[nodiscard]] std::uint64_t size() const noexcept { return n_; }

  /// The element at `offset`, which must be below size().
  [[nodiscard]] std::uint64_t index_at(std::uint64_t offset) const noexcept {
    BATCHCAST_ASSERT(offset < n_);
    if (n_ <= packed_max) return (packed_ >> (4 * offset)) & 15;
    std::uint64_t value = forward(offset);
    while (value >= n_) value = forward(value);
    return value;
  }

  /// The offset of `index`, which must be below size(): the inverse of index_at.
  [[nodiscard]] std::uint64_t offset_of(std::uint64_t index) const noexcept {
    BATCHCAST_ASSERT(index < n_);
    if (n_ <= packed_max) {
      std::uint64_t offset = 0;
      while (((packed_ >> (4 * offset)) & 15) != index) ++offset;
      return offset;
    }
    std::uint64_t value = backward(index);
    while (value >= n_) value = backward(value);
    return value;
  }

 private:
  static constexpr std::uint64_t packed_max = 16;
  static constexpr std::uint64_t small_max = 256;  // both halves below 16
  static constexpr std::uint64_t packed_identity = 0xfedc'ba98'7654'3210;

  // Fisher-Yates, whose choices are the digits of the fraction key / 2^64 in mixed radix: the bias
  // stays below 16! / 2^64.
  [[nodiscard]] static std::uint64_t pack_shuffled(std::uint64_t n,
                                                   std::uint64_t fraction) noexcept {
    std::uint64_t packed = packed_identity;
    for (std::uint64_t left = n; left > 1; --left) {
      const std::uint64_t pick = 4 * detail::scale_down(fraction, left);
      const std::uint64_t last = 4 * (left - 1);
      fraction *= left;
      const std::uint64_t differ = ((packed >> pick) ^ (packed >> last)) & 15;
      packed ^= (differ << pick) ^ (differ << last);
    }
    return packed;
  }

  void split() noexcept {
    low_bits_ = static_cast<std::uint32_t>(std::bit_width(n_ - 1)) / 2;
    high_count_ = ((n_ - 1) >> low_bits_) + 1;
  }

  // What one half adds to the other, as a fraction of 2^64. Halves that are small are too little
  // for a product to scatter: there each round looks its nibble up in a random word instead.
  [[nodiscard]] std::uint64_t round_value(std::uint64_t half, std::uint32_t round) const noexcept {
    const std::uint64_t addend = key_ + round * detail::golden_ratio;
    const std::uint64_t factor = factor_ + round * 0xd1b54a32d192ed03;
    if (n_ > small_max) return detail::multiply_fold(half ^ addend, factor);
    return std::rotl(detail::multiply_fold(addend, factor), static_cast<int>(4 * half));
  }

  [[nodiscard]] std::uint64_t forward(std::uint64_t value) const noexcept {
    std::uint64_t high = value >> low_bits_;
    std::uint64_t low = value & ((std::uint64_t{1} << low_bits_) - 1);
    for (std::uint32_t round = 0; round < rounds_; round += 2) {
      high += detail::scale_down(round_value(low, round), high_count_);
      high = high >= high_count_ ? high - high_count_ : high;
      low ^= round_value(high, round + 1) >> (64 - low_bits_);
    }
    return (high << low_bits_) | low;
  }

  [[nodiscard]] std::uint64_t backward(std::uint64_t value) const noexcept {
    std::uint64_t high = value >> low_bits_;
    std::uint64_t low = value & ((std::uint64_t{1} << low_bits_) - 1);
    for (std::uint32_t round = rounds_; round > 0; round -= 2) {
      low ^= round_value(high, round - 1) >> (64 - low_bits_);
      const std::uint64_t step = detail::scale_down(round_value(low, round - 2), high_count_);
      high = high >= step ? high - step : high + high_count_ - step;
    }
    return (high << low_bits_) | low;
  }

  std::uint64_t n_;
  std::uint64_t key_ = 0;
  std::uint64_t factor_ = 0;
  std::uint64_t packed_ = packed_identity;  // up to packed_max
  std::uint64_t high_count_ = 1;            // above, with low_bits_ and rounds_
  std::uint32_t low_bits_ = 0;
  std::uint32_t rounds_ = 0;
};

}  // namespace batchcast::inline v0_1
