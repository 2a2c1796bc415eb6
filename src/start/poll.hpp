// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/consumer.hpp>

#include <string>

namespace batchcast::inline v0_1::detail {

/// The recipe on a stream's board, read as an observer: the producer does not wait for this
/// process, nor count it for wait_for. Of the options it takes what says where the stream is, which
/// users are trusted and how long to wait. Throws what attaching throws.
[[nodiscard]] inline std::string recipe_of_stream(ConsumerOptions options) {
  options.observes = true;
  options.name = "recipe-check";
  options.batch_size = 1;  // it takes none: a ring of any size does
  return Consumer(std::move(options)).recipe_json();
}

}  // namespace batchcast::inline v0_1::detail
