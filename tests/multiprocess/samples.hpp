// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/batchcast.hpp>

#include <cstdint>
#include <string>

// Samples whose every byte, and whose id, follow from their position in the stream.
namespace batchcast::testing {

/// `small` (24 bytes), `mixed` (odd sizes, several types) or `padded` (mixed, and an image of 1,001
/// bytes that a small ring cannot hold tightly).
[[nodiscard]] Schema schema_of(const std::string& kind);

[[nodiscard]] std::uint64_t id_at(std::uint64_t position) noexcept;

/// Writes all samples of a loan, their ids last.
void fill(const Loan& loan);
/// Writes what no sample is.
void scribble(const Loan& loan);

/// Where the tests' streams are served besides the host, and taken: BATCHCAST_TEST_PLACEMENT, else
/// the host.
[[nodiscard]] Placement test_placement();

/// What is wrong with a batch, byte by byte, wherever it is; empty if nothing is.
[[nodiscard]] std::string fault_of(const Batch& batch);

/// Follows a consumer: every byte, and every position once.
class Checker {
 public:
  explicit Checker(std::uint64_t samples_per_epoch) noexcept
      : samples_per_epoch_(samples_per_epoch) {}

  void see(const Batch& batch);
  /// From here on the next position may be any later one (a loop left early, a miss, a pause).
  void expect_gap() noexcept { gap_ = true; }

  /// The first thing that was wrong; empty if all is well.
  [[nodiscard]] const std::string& fault() const noexcept { return fault_; }
  [[nodiscard]] std::uint64_t next() const noexcept { return next_; }
  [[nodiscard]] bool started() const noexcept { return started_; }
  [[nodiscard]] std::uint64_t first() const noexcept { return first_; }

 private:
  void complain(const std::string& text);

  std::uint64_t samples_per_epoch_;
  std::uint64_t next_ = 0;
  std::uint64_t first_ = 0;
  std::uint64_t epoch_ = 0;
  bool started_ = false;
  bool gap_ = false;
  std::string fault_;
};

}  // namespace batchcast::testing
