// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "cli/consume/recomputation.hpp"

#include <batchcast/batch.hpp>
#include <batchcast/core/group.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

// What `consume` finds out about the samples it was given.
namespace batchcast::cli {

/// Counts what did not come, came twice, or came wrong, up to the last batch delivered. It counts
/// wrong ids and bytes only where they can be made again.
class Ledger {
 public:
  /// `again` may be null. Of a group, each batch is the rank's part of a larger one.
  Ledger(std::unique_ptr<Recomputation> again, Group group)
      : again_(std::move(again)), group_(std::move(group)) {}

  /// `skipped` of the positions since the last batch were given up on purpose.
  /// Throws Revoked or GroupBroken, and counts nothing, where the consumer was evicted before all
  /// of the batch was read. What is read then is not what was published.
  void add(const Batch& batch, std::uint64_t skipped) { add(batch, skipped, batch); }
  /// The same of a copy of the batch `held`.
  void add(const Batch& batch, std::uint64_t skipped, const Batch& held);
  /// The next batch may begin anywhere: the consumer skipped the samples between on purpose.
  void forget_place() noexcept { expected_.reset(); }

  [[nodiscard]] std::uint64_t missing() const noexcept { return missing_; }
  [[nodiscard]] std::uint64_t duplicated() const noexcept { return duplicated_; }
  [[nodiscard]] std::uint64_t torn() const noexcept { return torn_; }
  [[nodiscard]] std::uint64_t verified_bytes() const noexcept { return verified_bytes_; }

 private:
  void verify(const Batch& batch, std::uint64_t skipped, const Batch& held);
  void place(std::uint64_t position, std::uint64_t skipped) noexcept;

  std::unique_ptr<Recomputation> again_;
  std::vector<Recomputation::Verdict> verdicts_;  ///< of the batch that is verified
  std::vector<std::uint64_t> bytes_;              ///< of its samples
  Group group_;
  std::optional<std::uint64_t> expected_;  ///< next position
  std::uint64_t missing_ = 0;
  std::uint64_t duplicated_ = 0;
  std::uint64_t torn_ = 0;
  std::uint64_t verified_bytes_ = 0;
};

/// Digest of one epoch: XXH3-128 over the fields' own, each over its bytes in stream order.
class EpochDigest {
 public:
  explicit EpochDigest(std::size_t fields);
  ~EpochDigest();
  EpochDigest(EpochDigest&&) noexcept;
  EpochDigest& operator=(EpochDigest&&) noexcept;

  void add(const Batch& batch);
  /// The next bytes of one field, in stream order; `add_samples` counts them.
  void add(std::size_t field, std::span<const std::byte> bytes) noexcept;
  void add_samples(std::uint64_t count) noexcept { samples_ += count; }
  [[nodiscard]] std::uint64_t samples() const noexcept { return samples_; }
  /// 32 hexadecimal digits; begins again.
  [[nodiscard]] std::string finish();

 private:
  struct State;
  std::unique_ptr<State[]> fields_;
  std::size_t field_count_;
  std::uint64_t samples_ = 0;
};

}  // namespace batchcast::cli
