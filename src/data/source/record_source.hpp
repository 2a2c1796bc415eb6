// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/data/source.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/source/row_offsets.hpp"

namespace batchcast::inline v0_1::detail {

/// A part of every sample: some bytes of a record. All records have one size.
struct RecordPart {
  PartSpec spec;
  /// The records of each of the source's files, one after the other.
  std::vector<std::span<const std::byte>> records = {};
  std::size_t record_bytes = 0;
  std::size_t at = 0;  ///< where in the record the part begins
  /// Above 0: the part is a byte, the number of one of this many classes, and becomes an i64.
  std::size_t classes = 0;
  /// Of a part on an axis: which rows a sample has. `records` are then rows, of one file, and
  /// `record_bytes` is the size of one.
  std::shared_ptr<const RowOffsets> offsets = nullptr;
  std::shared_ptr<const StoredLengths> lengths = nullptr;
};

/// What an opener finds out about a dataset of records.
struct RecordSet {
  struct File {
    std::string name;  ///< samples are named after it: NAME[17]
    std::uint64_t samples = 0;
  };
  std::vector<File> files = {};  ///< in the order of their samples
  std::vector<RecordPart> parts = {};
  std::vector<std::shared_ptr<const void>> memory = {};  ///< what the records lie in
  Fingerprint fingerprint = {};
  std::vector<std::string> class_names = {};
  std::vector<std::string> remarks = {};
};

/// A source over at least one record in mapped files.
[[nodiscard]] std::unique_ptr<Source> make_record_source(RecordSet set);

/// Returns `value`, which the set then keeps.
template <class T>
const T& keep(RecordSet& set, T value) {
  auto kept = std::make_shared<const T>(std::move(value));
  set.memory.push_back(kept);
  return *kept;
}

}  // namespace batchcast::inline v0_1::detail
