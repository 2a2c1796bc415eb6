// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/data/cache_options.hpp>

#include <batchcast/core/bytes_in.hpp>
#include <batchcast/core/bytes_text.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/text.hpp>

#include "data/source/source_options.hpp"

#include <optional>

namespace batchcast::inline v0_1 {

CacheOptions CacheOptions::parse(std::string_view given) {
  const std::size_t colon = given.find(':');
  const std::string size(given.substr(0, colon));
  const std::optional<std::uint64_t> bytes = bytes_in(size);
  if (!bytes || *bytes == 0) {
    throw InvalidArgument(
        text("batchcast: cache `{}` must be a size such as 8GiB, or a size and a directory, such "
             "as 200GiB:/fast/cache.",
             given));
  }
  CacheOptions options{*bytes, {}};
  if (colon == std::string_view::npos) return options;
  options.directory = detail::with_home(given.substr(colon + 1));
  if (options.directory.empty()) {
    throw InvalidArgument(text("batchcast: cache `{}` names no directory after the colon.", given));
  }
  return options;
}

std::string CacheOptions::to_text() const {
  const std::string size = memory_argument(bytes);
  return directory.empty() ? size : size + ":" + directory;
}

}  // namespace batchcast::inline v0_1
