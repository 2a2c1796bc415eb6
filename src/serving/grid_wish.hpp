// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/grid.hpp>

#include <mutex>
#include <optional>
#include <utility>

namespace batchcast::inline v0_1::serving {

/// The grid that trainers at the door need, while the stream has another. Thread-safe.
class GridWish {
 public:
  void ask(const Grid& grid) {
    const std::lock_guard lock(mutex_);
    grid_ = grid;
  }
  [[nodiscard]] bool is_there() const {
    const std::lock_guard lock(mutex_);
    return grid_.has_value();
  }
  [[nodiscard]] std::optional<Grid> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(grid_, std::nullopt);
  }

 private:
  mutable std::mutex mutex_;
  std::optional<Grid> grid_;
};

}  // namespace batchcast::inline v0_1::serving
