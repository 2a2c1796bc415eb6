// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/packed/block_arranger.hpp"

#include <batchcast/data/order.hpp>
#include <batchcast/data/permutation.hpp>
#include <batchcast/data/row_lengths.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// The whole dataset in the mode `packed`. Each run of `among` samples of an epoch's shuffle is a
/// block, and is arranged by itself. Blocks that were asked for lately are kept, since a stream
/// asks for all samples of one. Every answer is a pure function of seed, epoch and lengths.
///
/// Any thread may ask. One that needs a block arranges it; others that need it then wait. Once half
/// of a block was asked for, the thread that asks next also arranges the block behind it, and the
/// others go on meanwhile. Nothing is allocated after the constructor.
class PackedBlocks {
 public:
  /// `options.lengths` are those of all samples. Throws InvalidArgument for options out of range.
  explicit PackedBlocks(const OrderOptions& options);

  /// The sample at `offset` of the epoch, whose shuffle of the dataset is `shuffle`.
  [[nodiscard]] std::uint64_t index_at(std::uint64_t epoch, const Permutation& shuffle,
                                       std::uint64_t offset) noexcept;
  /// The inverse.
  [[nodiscard]] std::uint64_t offset_of(std::uint64_t epoch, const Permutation& shuffle,
                                        std::uint64_t index) noexcept;

 private:
  static constexpr std::uint64_t none = ~std::uint64_t{0};
  /// The places of a block's samples in its part of the shuffle, by offset.
  struct Slot {
    std::uint64_t epoch = 0;
    std::uint64_t block = none;
    std::size_t asked = 0;  ///< for one of its samples
    std::vector<std::uint16_t> places;
  };
  using Lock = std::unique_lock<std::mutex>;

  [[nodiscard]] std::size_t size_of(std::uint64_t block) const noexcept {
    return static_cast<std::size_t>(std::min(among_, samples_ - block * among_));
  }
  [[nodiscard]] Slot& slot_of(std::uint64_t epoch, std::uint64_t block) noexcept {
    return slots_[static_cast<std::size_t>((epoch * blocks_ + block) % slots_.size())];
  }
  template <class Find>
  std::uint64_t look_up(std::uint64_t epoch, const Permutation& shuffle, std::uint64_t block,
                        Find&& find_in) noexcept;
  void arrange_next(std::uint64_t epoch, const Permutation& shuffle, std::uint64_t block) noexcept;
  Slot& arrange(std::uint64_t epoch, const Permutation& shuffle, std::uint64_t block,
                Lock& lock) noexcept;

  const std::uint64_t samples_;
  const std::uint64_t seed_;
  const std::uint64_t budget_;
  const std::uint64_t among_;
  const std::uint64_t blocks_;  ///< of an epoch
  const std::uint64_t first_block_;
  const std::uint64_t last_block_;  ///< of the shard, as the first one
  const std::shared_ptr<const RowLengths> lengths_;

  std::mutex arranging_;  ///< is taken before `mutex_`, and guards these three
  BlockArranger arranger_;
  std::vector<std::uint64_t> rows_;
  std::vector<std::uint16_t> places_;

  std::mutex mutex_;  ///< guards the slots; it is held for a few steps only
  std::vector<Slot> slots_;
};

}  // namespace batchcast::inline v0_1::detail
