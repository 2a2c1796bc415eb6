// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/packed/block_arranger.hpp"

#include <batchcast/core/assert.hpp>
#include <batchcast/data/random.hpp>

#include <algorithm>
#include <functional>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace {

constexpr unsigned sample_bits = 16;

[[nodiscard]] std::uint64_t rows_of(std::uint64_t sorted) noexcept { return sorted >> sample_bits; }
[[nodiscard]] std::uint16_t sample_of(std::uint64_t sorted) noexcept {
  return static_cast<std::uint16_t>(sorted);
}

}  // namespace

class BlockArranger::Dice {
 public:
  explicit Dice(std::uint64_t key) noexcept : key_(mix64(key ^ 0x7061636b6564)) {}

  [[nodiscard]] std::size_t below(std::size_t n) noexcept {
    return static_cast<std::size_t>(scale_down(mix64(key_ += golden_ratio), n));
  }
  template <class T>
  void shuffle(std::span<T> list) noexcept {
    for (std::size_t left = list.size(); left > 1; --left) {
      std::swap(list[below(left)], list[left - 1]);
    }
  }

 private:
  std::uint64_t key_;
};

BlockArranger::BlockArranger(std::uint64_t budget, std::size_t samples)
    : budget_(budget),
      spaces_(budget, samples),
      sorted_(samples),
      others_(samples),
      bin_of_(samples),
      space_(samples),
      begin_(samples + 1),
      members_(samples),
      bins_(samples) {
  BATCHCAST_ASSERT(budget >= 1 && budget <= budget_max && samples <= samples_max);
}

void BlockArranger::arrange(std::span<const std::uint64_t> rows, std::uint64_t key,
                            std::span<std::uint16_t> order) noexcept {
  BATCHCAST_ASSERT(rows.size() <= members_.size() && order.size() == rows.size());
  Dice dice(key);
  sort(rows);
  make_bins();
  place_others(rows, dice);
  list_members(rows.size());
  for (std::size_t i = 0; i < bin_count_; ++i) bins_[i] = static_cast<Bin>(i);
  dice.shuffle(std::span(bins_).first(bin_count_));
  std::size_t at = 0;
  for (const Bin bin : std::span(bins_).first(bin_count_)) {
    shuffle_members(rows, bin, dice);
    for (std::size_t i = begin_[bin]; i < begin_[bin + 1]; ++i) order[at++] = members_[i];
  }
}

std::uint64_t BlockArranger::bins_from(std::size_t place) const noexcept {
  std::uint64_t bins = bin_count_;
  std::size_t end = 0;
  for (const Bin bin : std::span(bins_).first(bin_count_)) {
    end += begin_[bin + 1] - begin_[bin];
    if (end > place) break;
    --bins;
  }
  return bins;
}

void BlockArranger::sort(std::span<const std::uint64_t> rows) noexcept {
  sorted_count_ = other_count_ = 0;
  total_ = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] == 0 || rows[i] > budget_) {
      others_[other_count_++] = static_cast<std::uint16_t>(i);
    } else {
      sorted_[sorted_count_++] = rows[i] << sample_bits | i;
      total_ += rows[i];
    }
  }
  std::sort(sorted_.begin(), sorted_.begin() + static_cast<std::ptrdiff_t>(sorted_count_),
            std::greater<>());
}

/// As few bins as the rows need, if samples spread over them fit. Such bins have equally little
/// space and samples of all lengths. Else best fit says how many are enough.
void BlockArranger::make_bins() noexcept {
  const std::uint64_t least = (total_ + budget_ - 1) / budget_;
  if (balance(least)) return;
  fit_best();
  const std::size_t enough = bin_count_;
  if (enough == least) return;
  if (balance(least + 1) || (enough > least + 1 && balance(enough))) return;
  fit_best();
}

/// Gives each sample, the longest first, to the bin with most space. False: one does not fit.
bool BlockArranger::balance(std::uint64_t bins) noexcept {
  if (bins > sorted_count_) return false;
  bin_count_ = 0;
  spaces_.clear();
  while (bin_count_ < bins) spaces_.put(add_bin(budget_), budget_);
  for (const std::uint64_t sorted : std::span(sorted_).first(sorted_count_)) {
    const Bin bin = spaces_.take_largest();
    if (space_[bin] < rows_of(sorted)) return false;
    put(sorted, bin);
  }
  return true;
}

/// Gives each sample, the longest first, to the bin with the least space that it fits in.
void BlockArranger::fit_best() noexcept {
  bin_count_ = 0;
  spaces_.clear();
  for (const std::uint64_t sorted : std::span(sorted_).first(sorted_count_)) {
    const Bin bin = spaces_.take_at_least(rows_of(sorted));
    put(sorted, bin == SpaceIndex::none ? add_bin(budget_) : bin);
  }
}

void BlockArranger::put(std::uint64_t sorted, Bin bin) noexcept {
  bin_of_[sample_of(sorted)] = bin;
  space_[bin] -= rows_of(sorted);
  spaces_.put(bin, space_[bin]);
}

BlockArranger::Bin BlockArranger::add_bin(std::uint64_t space) noexcept {
  space_[bin_count_] = space;
  return static_cast<Bin>(bin_count_++);
}

/// A sample that exceeds the budget is a bin by itself, which has no space left. One without rows
/// is in any bin.
void BlockArranger::place_others(std::span<const std::uint64_t> rows, Dice& dice) noexcept {
  const std::size_t shared = bin_count_;
  Bin empty = SpaceIndex::none;
  for (const std::uint16_t sample : std::span(others_).first(other_count_)) {
    if (rows[sample] != 0) {
      bin_of_[sample] = add_bin(0);
    } else if (shared != 0) {
      bin_of_[sample] = static_cast<Bin>(dice.below(shared));
    } else {
      if (empty == SpaceIndex::none) empty = add_bin(budget_);
      bin_of_[sample] = empty;
    }
  }
}

void BlockArranger::list_members(std::size_t samples) noexcept {
  std::fill_n(begin_.begin(), bin_count_ + 1, 0U);
  for (std::size_t i = 0; i < samples; ++i) ++begin_[bin_of_[i]];
  std::uint32_t end = 0;
  for (std::size_t bin = 0; bin <= bin_count_; ++bin) end = begin_[bin] += end;
  for (std::size_t i = samples; i-- > 0;) {
    members_[--begin_[bin_of_[i]]] = static_cast<std::uint16_t>(i);
  }
}

/// The last one has rows, unless none has: a consumer's batch ends where it is exact, and samples
/// without rows behind would begin another.
void BlockArranger::shuffle_members(std::span<const std::uint64_t> rows, Bin bin,
                                    Dice& dice) noexcept {
  const std::span<std::uint16_t> members =
      std::span(members_).subspan(begin_[bin], begin_[bin + 1] - begin_[bin]);
  dice.shuffle(members);
  const auto last = std::find_if(members.rbegin(), members.rend(),
                                 [&](std::uint16_t sample) { return rows[sample] != 0; });
  if (last != members.rend()) std::swap(*last, members.back());
}

}  // namespace batchcast::inline v0_1::detail
