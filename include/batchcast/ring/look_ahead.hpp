// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/reader.hpp>

#include <cstdint>
#include <optional>

namespace batchcast::inline v0_1 {

/// What `peek` of a RingReader, or of a rank, shows: the run of the next batch. It takes the
/// reader's steps, but leases nothing, counts nothing, and leaves the cursor where it is. A call of
/// the reader makes one; the reader outlives it.
class LookAhead {
 public:
  explicit LookAhead(RingReader& reader) noexcept : reader_(reader) {}

  /// The next batch; nothing while it is not there, and then `look` has what to sleep for.
  /// `ends_here`: the epoch of the cursor ends at the cursor, even where the board has a later end.
  /// Throws as `peek`.
  [[nodiscard]] std::optional<Run> find(RingReader::Look& look, std::uint64_t samples,
                                        bool ends_here);

 private:
  using Look = RingReader::Look;
  using Place = RingReader::Place;

  [[nodiscard]] std::optional<Run> find_by_rows(Look& look, std::uint64_t samples, bool ends_here);
  [[nodiscard]] bool is_whole_epoch(const Place& place) const noexcept;
  /// Throws where the sample before `look.wanted` cannot come until `next` has passed what lies
  /// before `begin`.
  void refuse_unpassed(const Look& look, std::uint64_t begin) const;
  [[nodiscard]] Place caught_up(Place place) const noexcept;
  [[nodiscard]] std::optional<Place> next_place(std::uint64_t samples, bool ends_here);
  [[nodiscard]] std::optional<Run> run_at(const Place& place, std::uint64_t samples,
                                          std::uint64_t published) const noexcept;

  RingReader& reader_;
};

}  // namespace batchcast::inline v0_1
