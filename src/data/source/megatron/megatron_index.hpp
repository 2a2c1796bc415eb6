// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/dtype.hpp>
#include <batchcast/data/row_lengths.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// The .idx of a Megatron-LM dataset: which elements of its .bin each document has. The bytes of
/// the index stay in their mapped file, which may be written over at any time, so every read checks
/// them again. Any thread may call any member.
class MegatronIndex {
 public:
  /// Some neighbouring elements of the .bin.
  struct Run {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
  };

  /// `idx` outlives this object; messages call it `path`. Every sequence has to lie in the
  /// `bin_bytes` of the .bin. Throws BadDataset.
  MegatronIndex(std::span<const std::byte> idx, const std::string& path, std::uint64_t bin_bytes);

  [[nodiscard]] DType dtype() const noexcept { return dtype_; }
  /// Elements of the .bin.
  [[nodiscard]] std::uint64_t elements() const noexcept { return elements_; }
  /// Elements of each document.
  [[nodiscard]] const std::shared_ptr<const StoredLengths>& lengths() const noexcept {
    return lengths_;
  }
  /// Where the elements of a document lie, in order, with neighbours as one: mostly one run.
  /// All runs have as many elements as the document had when the index was opened. Throws BadSample
  /// where the file has changed since.
  void runs_of(std::uint64_t document, const std::function<void(Run)>& take) const;

 private:
  [[nodiscard]] std::int64_t number_at(std::span<const std::byte> table,
                                       std::uint64_t index) const noexcept;
  [[nodiscard]] bool find_run(std::uint64_t sequence, Run& run) const noexcept;
  [[nodiscard]] std::vector<std::uint32_t> check_documents(const std::string& path) const;

  DType dtype_ = DType::i32;
  std::uint64_t elements_ = 0;
  std::span<const std::byte> sequence_lengths_;  // i32
  std::span<const std::byte> pointers_;          // i64, in bytes
  std::span<const std::byte> document_ends_;     // i64, from 0; one more than documents
  std::shared_ptr<const StoredLengths> lengths_;
};

}  // namespace batchcast::inline v0_1::detail
