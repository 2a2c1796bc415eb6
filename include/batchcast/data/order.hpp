// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/language.hpp>

#include <batchcast/core/grid.hpp>
#include <batchcast/data/permutation.hpp>
#include <batchcast/data/row_lengths.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

// In which order an epoch visits the dataset. Every lookup takes the same few steps for any size of
// dataset, in both directions. So seeking in a billion-sample epoch costs nothing. In the mode
// `packed` it may also arrange one block, which takes less than a millisecond for 4,096 samples.
namespace batchcast::inline v0_1 {

enum class OrderMode : std::uint8_t {
  reshuffle,   ///< every epoch has another shuffle
  fixed,       ///< one shuffle, every epoch the same
  sequential,  ///< the dataset's own order
  blocks,      ///< every epoch: blocks of neighbours shuffled, then the samples of a few blocks
  packed,      ///< every epoch: another shuffle, neighbours in it arranged to fill a budget
};

inline constexpr std::array<std::string_view, 5> order_mode_names = {
    "reshuffle", "fixed", "sequential", "blocks", "packed"};

[[nodiscard]] constexpr std::string_view name_of(OrderMode mode) noexcept {
  return order_mode_names[static_cast<std::size_t>(mode)];
}

[[nodiscard]] constexpr std::optional<OrderMode> parse_order_mode(std::string_view name) noexcept {
  for (std::size_t i = 0; i < order_mode_names.size(); ++i) {
    if (order_mode_names[i] == name) return static_cast<OrderMode>(i);
  }
  return std::nullopt;
}

/// For sources where neighbours are cheap to read together.
struct BlockOptions {
  std::uint64_t block_samples = 256;
  std::uint64_t window_blocks = 64;  ///< shuffled together, sample by sample

  friend bool operator==(const BlockOptions&, const BlockOptions&) = default;
};

/// For samples of any length, and consumers with a budget.
struct PackedOptions {
  static constexpr std::uint64_t budget_max = std::uint64_t{1} << 32;
  static constexpr std::uint64_t among_max = std::uint64_t{1} << 16;

  std::string axis = {};
  std::uint64_t budget = 0;  ///< rows of that axis in a batch: at least 1
  /// Neighbours of the shuffle that are arranged together: as many as are in about 100 batches. It
  /// is in [2, among_max].
  std::uint64_t among = 4096;

  friend bool operator==(const PackedOptions&, const PackedOptions&) = default;
};

/// One of `count` disjoint shares of each epoch, all of the same length. Up to `count` - 1 samples
/// at the end of the epoch's order are left over and are in no share.
struct Shard {
  std::uint64_t index = 0;
  std::uint64_t count = 1;

  friend bool operator==(const Shard&, const Shard&) = default;
};

struct OrderOptions {
  std::uint64_t samples_per_epoch = 0;  ///< of the whole dataset, also for a shard
  std::uint64_t seed = 0;
  OrderMode mode = OrderMode::reshuffle;
  BlockOptions blocks = {};  ///< where the mode is `blocks`
  Shard shard = {};
  /// Instead of a shard: the columns of one node. It has as many samples.
  std::optional<Grid> grid = {};
  PackedOptions packed = {};  ///< where the mode is `packed`
  /// There also the rows of all samples on its axis.
  std::shared_ptr<const RowLengths> lengths = {};
};

namespace detail {

class PackedBlocks;

/// The whole dataset in the mode `blocks`, for one key. The dataset's last block may be short. The
/// shuffled blocks are laid out as if all were full, so that the short one leaves a hole. Offsets
/// beyond the hole are moved over it.
class BlockShuffle {
 public:
  BlockShuffle(std::uint64_t samples, const BlockOptions& options, std::uint64_t key) noexcept;
  [[nodiscard]] std::uint64_t index_at(std::uint64_t offset) const noexcept;
  [[nodiscard]] std::uint64_t offset_of(std::uint64_t index) const noexcept;

 private:
  struct Window {
    std::uint64_t start;
    Permutation permutation;
  };
  [[nodiscard]] Window window_around(std::uint64_t offset) const noexcept;
  [[nodiscard]] std::uint64_t over_hole(std::uint64_t offset) const noexcept {
    return offset < hole_ ? offset : offset + hole_samples_;
  }
  [[nodiscard]] std::uint64_t without_hole(std::uint64_t place) const noexcept {
    return place < hole_ ? place : place - hole_samples_;
  }

  std::uint64_t samples_;
  std::uint64_t block_samples_;
  Permutation blocks_;
  std::uint64_t window_samples_;
  std::uint64_t hole_samples_;
  std::uint64_t hole_;
  std::uint64_t key_;
};

}  // namespace detail

/// The order of one epoch, or of one shard's or one node's share. A value; pure and callable from
/// any thread.
class EpochOrder {
 public:
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

  /// The sample at `offset`, which must be below size().
  [[nodiscard]] std::uint64_t index_at(std::uint64_t offset) const noexcept {
    BATCHCAST_ASSERT(offset < size_);
    const std::uint64_t place = grid_ ? grid_->offset_at(epoch_, offset) : first_ + offset;
    if (packed_) return packed_index_at(place);
    return blocks_ ? blocks_->index_at(place) : whole_.index_at(place);
  }

  /// The inverse: the offset of `index`, a sample of the dataset; nothing where this has no such
  /// one.
  [[nodiscard]] std::optional<std::uint64_t> offset_of(std::uint64_t index) const noexcept {
    const std::uint64_t place = packed_   ? packed_offset_of(index)
                                : blocks_ ? blocks_->offset_of(index)
                                          : whole_.offset_of(index);
    if (grid_) return grid_->index_of(epoch_, place);
    const std::uint64_t offset = place - first_;
    return offset < size_ ? std::optional(offset) : std::nullopt;
  }

 private:
  friend class Order;
  EpochOrder(const Permutation& whole, std::uint64_t epoch, std::uint64_t first,
             std::uint64_t size) noexcept
      : whole_(whole), epoch_(epoch), first_(first), size_(size) {}
  [[nodiscard]] std::uint64_t packed_index_at(std::uint64_t offset) const noexcept;
  [[nodiscard]] std::uint64_t packed_offset_of(std::uint64_t index) const noexcept;

  Permutation whole_;
  std::optional<detail::BlockShuffle> blocks_;
  std::shared_ptr<detail::PackedBlocks> packed_;
  std::optional<Grid> grid_;
  std::uint64_t epoch_;
  std::uint64_t first_;
  std::uint64_t size_;
};

/// The order of all epochs of a stream. A value; pure and callable from any thread. In the mode
/// `packed` copies share what was arranged lately.
class Order {
 public:
  /// Throws InvalidArgument unless samples_per_epoch is in [1, samples_per_epoch_max], blocks and
  /// windows have at least one element, and the shard is one of at most samples_per_epoch. A grid
  /// has to be sound, and of that many samples. In the mode `packed` budget and `among` have to be
  /// in range, and the lengths those of all samples.
  explicit Order(const OrderOptions& options);

  /// Samples of an epoch of this shard or node: all of the dataset where there is one.
  [[nodiscard]] std::uint64_t samples_per_epoch() const noexcept {
    if (options_.grid) return options_.grid->samples_per_epoch();
    return options_.samples_per_epoch / options_.shard.count;
  }
  [[nodiscard]] std::uint64_t dataset_samples() const noexcept {
    return options_.samples_per_epoch;
  }
  [[nodiscard]] OrderMode mode() const noexcept { return options_.mode; }

  /// The same order, which shares nothing with this one.
  [[nodiscard]] Order apart() const { return Order(options_); }

  /// One epoch, prepared for a caller that looks up many of its samples.
  [[nodiscard]] EpochOrder epoch(std::uint64_t epoch) const noexcept;

  /// The sample at `offset` (below samples_per_epoch()) of an epoch.
  [[nodiscard]] std::uint64_t sample_id_at(std::uint64_t epoch_number,
                                           std::uint64_t offset) const noexcept {
    return epoch(epoch_number).index_at(offset);
  }

  /// The inverse: the offset in that epoch of `sample_id`, which is below dataset_samples();
  /// nothing where this shard does not have it.
  [[nodiscard]] std::optional<std::uint64_t> offset_of(std::uint64_t epoch_number,
                                                       std::uint64_t sample_id) const noexcept {
    return epoch(epoch_number).offset_of(sample_id);
  }

 private:
  OrderOptions options_;
  std::shared_ptr<detail::PackedBlocks> packed_;
};

}  // namespace batchcast::inline v0_1
