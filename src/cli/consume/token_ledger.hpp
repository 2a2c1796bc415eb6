// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/batch.hpp>
#include <batchcast/consumer.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace batchcast::cli {

/// The tokens that a consumer got of a stream with an axis `tokens`, beside what its producer says
/// of a whole epoch.
class TokenLedger {
 public:
  explicit TokenLedger(const Consumer& consumer);

  /// Whether the rows that the consumer counts are tokens.
  [[nodiscard]] bool has_tokens() const noexcept { return has_tokens_; }
  /// Whether there is a field that says which tokens are trained.
  [[nodiscard]] bool has_mask() const noexcept { return has_mask_; }
  /// Of a batch in host memory.
  void add(const Batch& batch);
  /// What is wrong where an epoch that came whole has other tokens than its source; else nothing.
  [[nodiscard]] std::string end_epoch(const Consumer& consumer, bool whole);

  [[nodiscard]] nlohmann::json json(const RowCounts& rows) const;
  [[nodiscard]] std::string text(const RowCounts& rows) const;

 private:
  bool has_tokens_ = false;
  bool has_mask_ = false;
  std::optional<std::uint64_t> per_epoch_;  ///< of this consumer, as its producer says
  std::uint64_t counted_before_ = 0;        ///< at the end of the last epoch
  std::uint64_t trained_ = 0;
};

}  // namespace batchcast::cli
