// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/source/row_offsets.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/text.hpp>

#include <cstring>
#include <limits>
#include <utility>
#include <vector>

namespace batchcast::inline v0_1::detail {

std::int64_t RowOffsets::at(std::uint64_t index) const noexcept {
  if (wide_) {
    std::int64_t number = 0;
    std::memcpy(&number, numbers_.data() + index * sizeof number, sizeof number);
    return number;
  }
  std::int32_t number = 0;
  std::memcpy(&number, numbers_.data() + index * sizeof number, sizeof number);
  return number;
}

// Each number is read once: another process may write to the file meanwhile.
std::shared_ptr<const StoredLengths> RowOffsets::lengths(const std::string& path,
                                                         std::uint64_t rows,
                                                         const std::string& values) const {
  constexpr const char* cure = "Offsets are np.concatenate(([0], np.cumsum(lengths)))";
  std::int64_t begin = at(0);
  if (begin != 0) {
    throw BadDataset(
        text("batchcast: {}: its first offset is {}, and the first sample begins at 0. {}.", path,
             begin, cure));
  }
  std::vector<std::uint32_t> lengths;
  lengths.reserve(samples());
  for (std::uint64_t i = 1; i < count(); ++i) {
    const std::int64_t end = at(i);
    if (end < begin) {
      throw BadDataset(
          text("batchcast: {}: its offsets fall from {} to {} at [{}], and each sample begins "
               "where the one before it ends. {}.",
               path, begin, end, i, cure));
    }
    if (end - begin > std::numeric_limits<std::uint32_t>::max()) {
      throw BadDataset(
          text("batchcast: {}: sample {} has {} rows, and a sample has at most {}. Make several "
               "samples of it.",
               path, i - 1, end - begin, std::numeric_limits<std::uint32_t>::max()));
    }
    lengths.push_back(static_cast<std::uint32_t>(end - begin));
    begin = end;
  }
  if (static_cast<std::uint64_t>(begin) != rows) {
    throw BadDataset(
        text("batchcast: {}: its last offset is {}, and {} has {} rows: they do not belong "
             "together.",
             path, begin, values, rows));
  }
  return std::make_shared<const StoredLengths>(std::move(lengths));
}

}  // namespace batchcast::inline v0_1::detail
