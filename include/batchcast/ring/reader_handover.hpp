// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/row_place.hpp>
#include <batchcast/ring/reader.hpp>

#include <cstdint>

namespace batchcast::inline v0_1 {

/// From a dead producer's ring to the next one's, for a stream whose epochs have one length.
struct ReaderHandover {
  /// The end of the last batch of that size, or of the last epoch, that is published as a whole.
  /// With a budget or a window it is where the reader stands.
  [[nodiscard]] static RowPlace end_of_whole(const RingReader& reader,
                                             std::uint64_t samples) noexcept;
  /// `next` has just joined its ring. It goes on where `last` stands in an earlier ring, in its
  /// epoch, and with what its receipt has.
  static void take_over(RingReader& next, const RingReader& last);
  /// Whether another reader may take over between two batches, and nothing is left to be said here.
  [[nodiscard]] static bool may_leave(const RingReader& reader, std::uint64_t samples) noexcept;
  /// The epoch has no more batches of that size, and `next` has not said so. Call it where the
  /// reader found none in the whole ring.
  [[nodiscard]] static bool owes_epoch_end(const RingReader& reader,
                                           std::uint64_t samples) noexcept;
};

}  // namespace batchcast::inline v0_1
