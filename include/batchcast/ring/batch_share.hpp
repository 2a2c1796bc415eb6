// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/limits.hpp>
#include <batchcast/core/options.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>

namespace batchcast::inline v0_1 {

/// Which samples of each batch a reader takes, where several readers get equal shares of the same
/// batches. A reader by itself takes the only share. Does not change once it is made.
class BatchShare {
 public:
  /// Share `index` of `count`, counted from 0. `tail`: what the readers get of a batch that is not
  /// whole.
  BatchShare(std::uint64_t index, std::uint64_t count, Tail tail) noexcept
      : index_(index), count_(count), samples_max_(limits::position_max / count), tail_(tail) {}

  /// Counted from where the batch of all shares begins.
  struct Part {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    std::uint64_t padding = 0;  ///< at the end: these repeat others, from the batch's first on
    std::uint64_t dropped = 0;  ///< samples at the batch's end that are in no share
  };

  [[nodiscard]] bool is_first() const noexcept { return index_ == 0; }
  /// Samples of a batch of which each share has `samples`.
  [[nodiscard]] std::uint64_t whole(std::uint64_t samples) const noexcept {
    return samples > samples_max_ ? limits::position_max : samples * count_;
  }
  /// This share where `there` samples are left, at most `whole(samples)`. Nothing where no reader
  /// gets any.
  [[nodiscard]] std::optional<Part> part_of(std::uint64_t samples,
                                            std::uint64_t there) const noexcept {
    if (there == whole(samples)) return Part{index_ * samples, samples};
    const std::uint64_t each = there / count_;
    switch (tail_) {
      case Tail::keep:
        if (each == 0) return std::nullopt;
        return Part{index_ * each, each, 0, there - each * count_};
      case Tail::drop:
        return std::nullopt;
      case Tail::pad:
        break;
    }
    const std::uint64_t first = index_ * samples;
    const std::uint64_t own = std::min(first < there ? there - first : 0, samples);
    return Part{first % there, samples, samples - own};
  }

 private:
  const std::uint64_t index_;
  const std::uint64_t count_;
  const std::uint64_t samples_max_;
  const Tail tail_;
};

}  // namespace batchcast::inline v0_1
