// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/consume/sample_window.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/limits.hpp>

#include <charconv>

namespace batchcast::cli {

Positions Positions::parse(const std::string& given) {
  Positions positions;
  const char* const end = given.data() + given.size();
  const auto first = std::from_chars(given.data(), end, positions.begin);
  const bool colon = first.ec == std::errc() && first.ptr != end && *first.ptr == ':';
  const auto second = colon ? std::from_chars(first.ptr + 1, end, positions.end) : first;
  if (!colon || second.ec != std::errc() || second.ptr != end) {
    throw InvalidArgument(text(
        "batchcast: --positions `{}` must be A:B, such as 0:100 for the first hundred.", given));
  }
  if (positions.begin >= positions.end || positions.end >= limits::position_max) {
    throw InvalidArgument(
        text("batchcast: --positions {} has nothing in it: A:B goes from A up to but not including "
             "B, so A must be below B.",
             given));
  }
  return positions;
}

SampleWindow::SampleWindow(const Dataset& dataset) : dataset_(dataset) {
  for (const FieldSpec& field : dataset.maker().schema()) {
    buffers_.emplace_back(field.byte_count());
  }
  for (std::vector<std::byte>& buffer : buffers_) slots_.push_back({buffer.data(), buffer.size()});
  if (dataset.pipeline() == nullptr) worker_ = dataset.maker().worker();
}

void SampleWindow::make(std::uint64_t position) {
  const std::uint64_t samples = dataset_.maker().samples_per_epoch();
  const SampleSlots slots{position / samples, position % samples, slots_, {&sample_id_, 1}};
  if (worker_) {
    worker_->make(slots);
    trace_.sample_id = sample_id_;
  } else {
    trace_ = dataset_.pipeline()->trace(slots);
  }
}

}  // namespace batchcast::cli
