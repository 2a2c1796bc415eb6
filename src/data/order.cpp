// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/error.hpp>
#include <batchcast/data/order.hpp>

#include "data/packed/packed_blocks.hpp"

#include <algorithm>
#include <string>

namespace batchcast::inline v0_1 {
namespace detail {
namespace {

std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) noexcept { return (a - 1) / b + 1; }

}  // namespace

BlockShuffle::BlockShuffle(std::uint64_t samples, const BlockOptions& options,
                           std::uint64_t key) noexcept
    : samples_(samples),
      block_samples_(std::min(options.block_samples, samples)),
      blocks_(divide_up(samples, block_samples_), key),
      // The window is at most twice the dataset, although the option may be any number.
      window_samples_(std::min(options.window_blocks, blocks_.size()) * block_samples_),
      hole_samples_(blocks_.size() * block_samples_ - samples),
      hole_((blocks_.offset_of(blocks_.size() - 1) + 1) * block_samples_ - hole_samples_),
      key_(key) {}

BlockShuffle::Window BlockShuffle::window_around(std::uint64_t offset) const noexcept {
  const std::uint64_t number = over_hole(offset) / window_samples_;
  // The hole ends where a block ends, so no window begins inside it; one may begin right after.
  const std::uint64_t start = without_hole(number * window_samples_);
  const std::uint64_t end = std::min(samples_, without_hole((number + 1) * window_samples_));
  return {start, Permutation(end - start, fold_key(key_, number))};
}

std::uint64_t BlockShuffle::index_at(std::uint64_t offset) const noexcept {
  const Window window = window_around(offset);
  const std::uint64_t place =
      over_hole(window.start + window.permutation.index_at(offset - window.start));
  return blocks_.index_at(place / block_samples_) * block_samples_ + place % block_samples_;
}

std::uint64_t BlockShuffle::offset_of(std::uint64_t index) const noexcept {
  const std::uint64_t before = without_hole(
      blocks_.offset_of(index / block_samples_) * block_samples_ + index % block_samples_);
  const Window window = window_around(before);
  return window.start + window.permutation.offset_of(before - window.start);
}

}  // namespace detail

Order::Order(const OrderOptions& options) : options_(options) {
  const auto refuse = [](const std::string& what) {
    throw InvalidArgument(text("batchcast: {}", what));
  };
  const std::uint64_t samples = options.samples_per_epoch;
  if (samples < 1 || samples > samples_per_epoch_max) {
    refuse(text("an epoch of {} samples cannot be ordered. Give between 1 and 2^48 samples.",
                samples));
  }
  if (options.mode == OrderMode::blocks) {
    if (options.blocks.block_samples == 0) {
      refuse("the order `blocks` has block_samples = 0. Give at least 1 sample to a block.");
    }
    if (options.blocks.window_blocks == 0) {
      refuse("the order `blocks` has window_blocks = 0. Give at least 1 block to a window.");
    }
  }
  const auto [index, count] = options.shard;
  if (count == 0 || index >= count) {
    refuse(
        text("there is no shard {}/{}. Shards are numbered from 0: of two, they are 0/2 and 1/2.",
             index, count));
  }
  if (count > samples) {
    refuse(text(
        "a dataset of {} samples cannot be cut into {} shards: each must have at least one sample.",
        samples, count));
  }
  if (options.grid && (!options.grid->is_sound() || options.grid->samples != samples)) {
    refuse(text("a dataset of {} samples cannot be laid out by the grid {}.", samples,
                options.grid->to_json()));
  }
  if (options.mode == OrderMode::packed) packed_ = std::make_shared<detail::PackedBlocks>(options);
}

EpochOrder Order::epoch(std::uint64_t epoch) const noexcept {
  const std::uint64_t samples = options_.samples_per_epoch;
  const std::uint64_t size = samples_per_epoch();
  const std::uint64_t first = options_.shard.index * size;
  const auto laid_out = [&](const Permutation& whole) {
    EpochOrder order(whole, epoch, first, size);
    order.grid_ = options_.grid;
    return order;
  };
  if (options_.mode == OrderMode::sequential) return laid_out(Permutation::identity(samples));
  const std::uint64_t key =
      detail::fold_key(options_.seed, options_.mode == OrderMode::fixed ? 0 : epoch);
  if (options_.mode != OrderMode::blocks) {
    EpochOrder order = laid_out(Permutation(samples, key));
    order.packed_ = packed_;
    return order;
  }
  EpochOrder order = laid_out(Permutation::identity(1));
  order.blocks_.emplace(samples, options_.blocks, key);
  return order;
}

std::uint64_t EpochOrder::packed_index_at(std::uint64_t offset) const noexcept {
  return packed_->index_at(epoch_, whole_, offset);
}

std::uint64_t EpochOrder::packed_offset_of(std::uint64_t index) const noexcept {
  return packed_->offset_of(epoch_, whole_, index);
}

}  // namespace batchcast::inline v0_1
