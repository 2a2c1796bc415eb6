// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/dtype.hpp>
#include <batchcast/data/row_lengths.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace batchcast::inline v0_1::detail {

/// Where the rows of each sample begin among those of all: one number a sample, and one for the
/// end. They stay in their mapped file, which may be written over at any time.
class RowOffsets {
 public:
  /// `numbers` are `samples + 1` of type i32 or i64, which `memory` keeps.
  RowOffsets(std::span<const std::byte> numbers, DType dtype, std::shared_ptr<const void> memory)
      : numbers_(numbers), wide_(dtype == DType::i64), memory_(std::move(memory)) {}

  [[nodiscard]] std::uint64_t samples() const noexcept { return count() - 1; }
  /// As the file has them now.
  [[nodiscard]] std::uint64_t count() const noexcept { return numbers_.size() / (wide_ ? 8 : 4); }
  [[nodiscard]] std::int64_t at(std::uint64_t index) const noexcept;
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return numbers_; }

  /// The lengths that the file has now. Throws BadDataset, with `path`, unless the offsets begin
  /// with 0, never fall, and end with `rows`, which `values` has.
  [[nodiscard]] std::shared_ptr<const StoredLengths> lengths(const std::string& path,
                                                             std::uint64_t rows,
                                                             const std::string& values) const;

 private:
  std::span<const std::byte> numbers_;
  bool wide_;
  std::shared_ptr<const void> memory_;
};

}  // namespace batchcast::inline v0_1::detail
