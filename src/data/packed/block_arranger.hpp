// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/packed/space_index.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// Puts the samples of one block into an order in which a consumer with the budget fills its
/// batches. Which samples are together, and in which order they come, depends on their rows and the
/// key alone. It uses integers only, so every machine finds the same order.
///
/// The samples are put into bins of at most `budget` rows, which follow each other. A consumer
/// takes as many whole samples as fit. So each batch reaches the end of the bin that it begins in,
/// or further. It never needs more batches than there are bins (decision 36).
///
/// It allocates in its constructor only. Not for several threads.
class BlockArranger {
 public:
  static constexpr std::uint64_t budget_max = std::uint64_t{1} << 40;
  static constexpr std::size_t samples_max = std::size_t{1} << 16;

  BlockArranger(std::uint64_t budget, std::size_t samples);

  /// Writes into `order` a permutation of [0, rows.size()), which has at most `samples` elements.
  void arrange(std::span<const std::uint64_t> rows, std::uint64_t key,
               std::span<std::uint16_t> order) noexcept;

  /// Of the last call: how many bins end after that place of the order.
  [[nodiscard]] std::uint64_t bins_from(std::size_t place) const noexcept;

 private:
  class Dice;
  using Bin = std::uint32_t;

  void sort(std::span<const std::uint64_t> rows) noexcept;
  void make_bins() noexcept;
  [[nodiscard]] bool balance(std::uint64_t bins) noexcept;
  void fit_best() noexcept;
  void put(std::uint64_t sorted, Bin bin) noexcept;
  Bin add_bin(std::uint64_t space) noexcept;
  void place_others(std::span<const std::uint64_t> rows, Dice& dice) noexcept;
  void list_members(std::size_t samples) noexcept;
  void shuffle_members(std::span<const std::uint64_t> rows, Bin bin, Dice& dice) noexcept;

  const std::uint64_t budget_;
  SpaceIndex spaces_;
  std::vector<std::uint64_t> sorted_;  ///< rows × 2^16 + sample, of those that share bins
  std::vector<std::uint16_t> others_;  ///< without rows, or with more than the budget
  std::size_t sorted_count_ = 0;
  std::size_t other_count_ = 0;
  std::uint64_t total_ = 0;  ///< rows of `sorted_`
  std::size_t bin_count_ = 0;
  std::vector<Bin> bin_of_;           ///< by sample
  std::vector<std::uint64_t> space_;  ///< by bin, as the next one
  std::vector<std::uint32_t> begin_;  ///< of its samples in `members_`
  std::vector<std::uint16_t> members_;
  std::vector<Bin> bins_;  ///< in their order
};

}  // namespace batchcast::inline v0_1::detail
