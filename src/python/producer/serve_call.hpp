// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "serving/serve_options.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace batchcast::inline v0_1::python {

/// What Python's serve is called with, besides the source.
struct ServeCall {
  serving::ServeOptions serve = {};
  bool background = false;
  bool replace = false;
  std::optional<std::vector<std::string>> fields = {};
  /// The fields on each axis; nothing without axes.
  std::optional<std::vector<std::pair<std::string, std::vector<std::string>>>> axes = {};
  std::optional<bool> batched = {};
  std::uint32_t processes = 0;
  std::string directory = {};
  std::optional<bool> progress = {};

  /// For the stream of a source that trainers know as `location`.
  [[nodiscard]] serving::ServeOptions of(const std::string& location) const {
    serving::ServeOptions options = serve;
    options.dataset.source = location;
    options.producer.directory = directory;
    return options;
  }
};

}  // namespace batchcast::inline v0_1::python
