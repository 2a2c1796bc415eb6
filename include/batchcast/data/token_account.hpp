// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/language.hpp>

#include <cstdint>

namespace batchcast::inline v0_1 {

/// Where the tokens of a source's documents are in one epoch of all shards. What is read is what
/// is delivered, truncated and dropped.
struct TokenAccount {
  std::uint64_t documents = 0;
  std::uint64_t tokens = 0;  ///< of all documents, as they are read
  std::uint64_t samples = 0;
  std::uint64_t delivered = 0;  ///< tokens of all samples
  std::uint64_t truncated_documents = 0;
  std::uint64_t truncated = 0;  ///< tokens behind the first ones of long documents
  std::uint64_t dropped_documents = 0;
  std::uint64_t dropped = 0;          ///< tokens of long documents that are left out
  std::uint64_t split_documents = 0;  ///< each is several samples

  [[nodiscard]] bool is_complete() const noexcept {
    return tokens == delivered + truncated + dropped;
  }
  friend bool operator==(const TokenAccount&, const TokenAccount&) = default;
};

/// Tokens of samples that were made. A token is trained unless its loss mask is 0.
struct MadeTokens {
  std::uint64_t tokens = 0;
  std::uint64_t trained = 0;
};

}  // namespace batchcast::inline v0_1
