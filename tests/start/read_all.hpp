// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/batchcast.hpp>

#include "catch.hpp"

#include <optional>
#include <string>
#include <utility>

namespace batchcast::test {

/// The one epoch of the stream `s`, a batch of at most ten samples, is made, read and finished.
inline void read_all(Producer& producer, const std::string& directory) {
  ConsumerOptions options;
  options.stream = "s";
  options.directory = directory;
  std::optional<Consumer> consumer(std::in_place, options);
  while (auto loan = producer.loan(10)) loan->publish();
  REQUIRE(consumer->next());
  REQUIRE_FALSE(consumer->next());
  consumer.reset();
  REQUIRE(producer.finish(10'000));
}

}  // namespace batchcast::test
