// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/data/maker.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// Makes samples one by one into private memory, with axes and without. For one thread.
class OneSample {
 public:
  /// `maker` must outlive it.
  explicit OneSample(const SampleMaker& maker) : worker_(maker.worker()), made_(maker.schema()) {
    for (const FieldSpec& field : maker.schema()) has_axes_ = has_axes_ || field.on_axis();
    if (has_axes_) return;
    for (std::size_t i = 0; i < maker.schema().size(); ++i) {
      const std::span<std::byte> bytes = made_.make(i, maker.schema()[i].byte_count());
      slots_.push_back({bytes.data(), bytes.size()});
    }
  }

  /// What the accessors show is that sample's until the next call. Throws what the maker throws.
  void make(std::uint64_t epoch, std::uint64_t index_in_epoch) {
    if (has_axes_) return worker_->make_apart(epoch, index_in_epoch, made_);
    worker_->make({epoch, index_in_epoch, slots_, {&made_.sample_id, 1}});
  }

  [[nodiscard]] std::uint64_t sample_id() const noexcept { return made_.sample_id; }
  [[nodiscard]] std::span<const std::byte> field(std::size_t index) const noexcept {
    return made_.field(index);
  }
  /// By axis, in the order of `axes_of`.
  [[nodiscard]] std::span<const std::uint64_t> rows() const noexcept { return made_.rows(); }

 private:
  std::unique_ptr<SampleWorker> worker_;
  MadeSample made_;
  std::vector<FieldSlots> slots_;  ///< of a maker without axes
  bool has_axes_ = false;
};

}  // namespace batchcast::inline v0_1::detail
