// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/packed/packed_blocks.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/data/random.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace {

constexpr std::uint64_t kept_samples = 128 * 1024;  // of the blocks that are kept, about

[[nodiscard]] const OrderOptions& checked(const OrderOptions& options) {
  const auto refuse = [](const std::string& what) {
    throw InvalidArgument(text("batchcast: the order `packed` {}", what));
  };
  const PackedOptions& packed = options.packed;
  if (!options.lengths) {
    refuse(
        "needs the length of every sample, which nothing here says before it is read."
        " Take `reshuffle`.");
  }
  if (packed.budget == 0 || packed.budget > PackedOptions::budget_max) {
    refuse(
        text("needs a budget between 1 and {} rows, and has {}. Give the budget of its trainers.",
             PackedOptions::budget_max, packed.budget));
  }
  if (packed.among < 2 || packed.among > PackedOptions::among_max) {
    refuse(text("has among = {}. Give between 2 and {} samples that are arranged together.",
                packed.among, PackedOptions::among_max));
  }
  if (options.lengths->size() != options.samples_per_epoch) {
    refuse(text("has the lengths of {} samples, of a dataset of {}.", options.lengths->size(),
                options.samples_per_epoch));
  }
  return options;
}

}  // namespace

PackedBlocks::PackedBlocks(const OrderOptions& options)
    : samples_(checked(options).samples_per_epoch),
      seed_(options.seed),
      budget_(options.packed.budget),
      among_(std::min(options.packed.among, samples_)),
      blocks_((samples_ - 1) / among_ + 1),
      first_block_(options.shard.index * (samples_ / options.shard.count) / among_),
      last_block_(((options.shard.index + 1) * (samples_ / options.shard.count) - 1) / among_),
      lengths_(options.lengths),
      arranger_(budget_, static_cast<std::size_t>(among_)),
      rows_(static_cast<std::size_t>(among_)),
      places_(static_cast<std::size_t>(among_)),
      slots_(static_cast<std::size_t>(std::clamp<std::uint64_t>(kept_samples / among_, 4, 256))) {
  for (Slot& slot : slots_) slot.places.resize(static_cast<std::size_t>(among_));
}

std::uint64_t PackedBlocks::index_at(std::uint64_t epoch, const Permutation& shuffle,
                                     std::uint64_t offset) noexcept {
  const std::uint64_t block = offset / among_;
  const std::uint64_t place = look_up(epoch, shuffle, block, [&](const auto& places) {
    return places[static_cast<std::size_t>(offset % among_)];
  });
  return shuffle.index_at(block * among_ + place);
}

std::uint64_t PackedBlocks::offset_of(std::uint64_t epoch, const Permutation& shuffle,
                                      std::uint64_t index) noexcept {
  const std::uint64_t shuffled = shuffle.offset_of(index);
  const std::uint64_t block = shuffled / among_;
  const std::uint64_t at = look_up(epoch, shuffle, block, [&](const auto& places) {
    const auto place = static_cast<std::uint16_t>(shuffled % among_);
    return std::find(places.begin(), places.end(), place) - places.begin();
  });
  return block * among_ + at;
}

/// What `find_in` says of the block's places.
template <class Find>
std::uint64_t PackedBlocks::look_up(std::uint64_t epoch, const Permutation& shuffle,
                                    std::uint64_t block, Find&& find_in) noexcept {
  Lock lock(mutex_);
  Slot& slot = slot_of(epoch, block);
  if (slot.block != block || slot.epoch != epoch) {
    lock.unlock();
    const std::lock_guard arranging(arranging_);
    lock.lock();
    const Slot& found = arrange(epoch, shuffle, block, lock);
    return static_cast<std::uint64_t>(find_in(found.places));
  }
  const auto result = static_cast<std::uint64_t>(find_in(slot.places));
  const bool is_half_way = ++slot.asked == size_of(block) / 2;
  lock.unlock();
  if (is_half_way) arrange_next(epoch, shuffle, block);
  return result;
}

void PackedBlocks::arrange_next(std::uint64_t epoch, const Permutation& shuffle,
                                std::uint64_t block) noexcept {
  const std::lock_guard arranging(arranging_);
  Lock lock(mutex_);
  if (block != last_block_) {
    arrange(epoch, shuffle, block + 1, lock);
  } else {
    arrange(epoch + 1, Permutation(samples_, fold_key(seed_, epoch + 1)), first_block_, lock);
  }
}

/// Both locks are held before and after it; the second one is free while it works.
PackedBlocks::Slot& PackedBlocks::arrange(std::uint64_t epoch, const Permutation& shuffle,
                                          std::uint64_t block, Lock& lock) noexcept {
  Slot& slot = slot_of(epoch, block);
  if (slot.block == block && slot.epoch == epoch) return slot;
  lock.unlock();
  const std::span<std::uint64_t> rows = std::span(rows_).first(size_of(block));
  const std::uint64_t begin = block * among_;
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = shuffle.index_at(begin + i);
  for (std::uint64_t& row : rows) row = std::min((*lengths_)[row], budget_ + 1);
  arranger_.arrange(rows, fold_key(fold_key(seed_, epoch), block),
                    std::span(places_).first(rows.size()));
  lock.lock();
  std::swap(slot.places, places_);
  slot.epoch = epoch;
  slot.block = block;
  slot.asked = 0;
  return slot;
}

}  // namespace batchcast::inline v0_1::detail
