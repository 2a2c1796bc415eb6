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
  if (positions.end >= limits::position_max) {
    throw InvalidArgument(
        text("batchcast: --positions {}: the positions of a stream stay below 2^63.", given));
  }
  if (positions.begin >= positions.end) {
    throw InvalidArgument(
        text("batchcast: --positions {} has nothing in it: A:B goes from A up to but not including "
             "B, so A must be below B.",
             given));
  }
  return positions;
}

SampleWindow::SampleWindow(const Dataset& dataset)
    : dataset_(dataset), fields_(dataset.maker().schema().size()), made_(dataset.maker().schema()) {
  const Schema& schema = dataset.maker().schema();
  if (dataset.pipeline() == nullptr) {
    sample_.emplace(dataset.maker());
  } else if (axes_of(schema).empty()) {
    for (std::size_t i = 0; i < fields_; ++i) {
      const std::span<std::byte> bytes = made_.make(i, schema[i].byte_count());
      slots_.push_back({bytes.data(), bytes.size()});
    }
  }
}

void SampleWindow::make(std::uint64_t position) {
  const std::uint64_t samples = dataset_.maker().samples_per_epoch();
  const std::uint64_t epoch = position / samples;
  const std::uint64_t index = position % samples;
  if (sample_) {
    sample_->make(epoch, index);
    trace_.sample_id = sample_->sample_id();
  } else if (slots_.empty()) {
    trace_ = dataset_.pipeline()->trace(epoch, index, made_);
  } else {
    trace_ = dataset_.pipeline()->trace({epoch, index, slots_, {&made_.sample_id, 1}});
  }
}

}  // namespace batchcast::cli
