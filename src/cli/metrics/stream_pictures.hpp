// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "metrics/site.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace batchcast::cli {

/// Pictures of what trainers of this user's streams see now, as `batchcast peek` draws them. One is
/// taken when it is asked for, and is the answer to all for a moment. Any thread may ask; they
/// wait for each other.
class StreamPictures {
 public:
  /// A PNG, or in words why there is none.
  [[nodiscard]] metrics::Response answer(const std::string& stream);

 private:
  struct Taken {
    std::uint64_t at_ns = 0;
    metrics::Response response;
  };

  std::mutex mutex_;
  std::map<std::string, Taken> taken_;
};

}  // namespace batchcast::cli
