// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/cache/segment.hpp"

#include <batchcast/data/fingerprint.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// A list of a segment's records beside it, so that a cache of millions is opened without a look at
// each. It only saves time: where it is missing, damaged or too short, the segment is read.
namespace batchcast::inline v0_1::detail {

struct IndexRecord {
  Fingerprint key;
  std::uint64_t offset = 0;
  std::uint32_t byte_count = 0;
  std::uint32_t unused = 0;

  [[nodiscard]] RecordPlace place() const noexcept { return {offset, byte_count}; }
};
static_assert(sizeof(IndexRecord) == 32);

struct SegmentIndex {
  std::uint64_t end = 0;  ///< behind the last record
  std::vector<IndexRecord> records;
};

/// Nothing where there is no whole index of a segment of that many bytes.
[[nodiscard]] std::optional<SegmentIndex> read_index(int folder, const std::string& name,
                                                     std::uint64_t segment_bytes);
/// Puts it there at once, or not at all. Failure costs time later.
void write_index(int folder, const std::string& name, const SegmentIndex& index) noexcept;

}  // namespace batchcast::inline v0_1::detail
