// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstdint>
#include <string>

// What a program says to its producer of a stream's axes.
namespace batchcast::inline v0_1 {

/// About how many rows of an axis a sample has.
struct RowsPerSample {
  std::string axis;
  double rows = 0;

  friend bool operator==(const RowsPerSample&, const RowsPerSample&) = default;
};

/// How many rows of an axis the ring has.
struct AxisRowCount {
  std::string axis;
  std::uint64_t rows = 0;

  friend bool operator==(const AxisRowCount&, const AxisRowCount&) = default;
};

}  // namespace batchcast::inline v0_1
