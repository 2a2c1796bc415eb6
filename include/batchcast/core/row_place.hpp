// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <compare>
#include <cstdint>

namespace batchcast::inline v0_1 {

/// A place among the rows of an axis: inside the sample at `position`. Where all rows of a sample
/// are passed, it is row 0 of the next one.
struct RowPlace {
  std::uint64_t position = 0;
  std::uint64_t row = 0;

  friend auto operator<=>(const RowPlace&, const RowPlace&) = default;
};

}  // namespace batchcast::inline v0_1
