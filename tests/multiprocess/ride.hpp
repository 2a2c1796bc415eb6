// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "serve.hpp"

#include <cstdint>
#include <string>

// The roles `phoenix`, a producer of a stream that can be made again, and `rider`, a trainer of it.
namespace batchcast::testing {

/// Loops that a rider leaves early: the last of each `every`, after that many batches.
struct EarlyLeaves {
  std::uint64_t every = 0;  ///< 0: none
  std::uint64_t batches = 0;

  /// After how many batches it leaves that loop; 0: at its end.
  [[nodiscard]] constexpr std::uint64_t after(std::uint64_t loop) const noexcept {
    return every != 0 && loop % every == every - 1 ? batches : 0;
  }
};

/// A digest of batches: where it begins, and with one more batch.
inline constexpr std::uint64_t ride_digest_begin = 1;
[[nodiscard]] std::uint64_t ride_digest_with(std::uint64_t digest, const Batch& batch);
/// The digest that a rider says, of batches that no death disturbs.
[[nodiscard]] std::string digest_of_ride(std::uint64_t batch_size, std::uint64_t epochs,
                                         std::uint64_t samples_per_epoch,
                                         const EarlyLeaves& leaves = {});

/// A stream `s` that is pure, as far as its producer says.
[[nodiscard]] ProducerOptions phoenix_options(std::uint64_t samples_per_epoch, std::uint64_t memory,
                                              const std::string& recipe = "by position");

}  // namespace batchcast::testing
