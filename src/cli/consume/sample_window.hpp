// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "feeder/one_sample.hpp"
#include "serving/dataset.hpp"

#include <batchcast/data/maker.hpp>
#include <batchcast/data/pipeline.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

// Samples made one by one without a stream.
namespace batchcast::cli {

using serving::Dataset;

/// Positions [begin, end).
struct Positions {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  [[nodiscard]] std::uint64_t size() const noexcept { return end - begin; }
  /// From `A:B`; throws InvalidArgument.
  [[nodiscard]] static Positions parse(const std::string& given);
};

/// Makes the sample at any position into private memory.
class SampleWindow {
 public:
  /// `dataset` must outlive it.
  explicit SampleWindow(const Dataset& dataset);

  /// Makes it; what the accessors show is that sample's until the next call. Throws BadSample.
  void make(std::uint64_t position);

  [[nodiscard]] std::size_t fields() const noexcept { return fields_; }
  [[nodiscard]] std::span<const std::byte> field(std::size_t index) const noexcept {
    return sample_ ? sample_->field(index) : made_.field(index);
  }
  /// By axis, in the order of `axes_of`.
  [[nodiscard]] std::span<const std::uint64_t> rows() const noexcept {
    return sample_ ? sample_->rows() : made_.rows();
  }
  [[nodiscard]] std::uint64_t sample_id() const noexcept { return trace_.sample_id; }
  /// What was drawn; of a synthetic sample, nothing.
  [[nodiscard]] const SampleTrace& trace() const noexcept { return trace_; }

 private:
  const Dataset& dataset_;
  std::size_t fields_;
  std::optional<detail::OneSample> sample_;  // of what is no pipeline
  MadeSample made_;                          // of a pipeline
  std::vector<FieldSlots> slots_;            // of a pipeline without axes
  SampleTrace trace_;
};

}  // namespace batchcast::cli
