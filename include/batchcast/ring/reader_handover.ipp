// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/reader_handover.hpp>

#include <batchcast/core/inline.hpp>

#include <algorithm>
#include <optional>

namespace batchcast::inline v0_1 {

BATCHCAST_INLINE RowPlace ReaderHandover::end_of_whole(const RingReader& reader,
                                                       std::uint64_t samples) noexcept {
  if (reader.rows_.has_window()) return reader.place();
  const std::uint64_t published = reader.cursor_.published();
  // Without a window any more, it drops the rest of a sample.
  std::uint64_t at = reader.cursor_.position() + (reader.cursor_.row() == 0 ? 0 : 1);
  if (reader.rows_.cuts_rows() || !reader.cursor_.epochs_have_one_length()) return {at, 0};
  if (reader.options_.pace == Pace::free) {
    at = std::max(at, std::min(reader.oldest_there(), published));
  }
  const std::uint64_t epoch = reader.board_.head().samples_per_epoch;
  at = std::max(at, published / epoch * epoch);  // the batches of whole epochs are all there
  const std::uint64_t batch = reader.share_.whole(samples);
  return {published > at ? at + (published - at) / batch * batch : at, 0};
}

BATCHCAST_INLINE void ReaderHandover::take_over(RingReader& next, const RingReader& last) {
  const RowPlace place = last.cursor_.place();
  if (place > next.cursor_.place()) {
    next.leases_.pass(place.position);
    next.cursor_.move_to(place, 0);
  }
  if (last.between_epochs() || last.cursor_.at_epoch_end()) return;
  next.cursor_.begin_epoch();
  next.receipt_.begin_as(last.receipt_);
  if (place < next.cursor_.place()) next.receipt_.spoil();  // at `free` pace
}

BATCHCAST_INLINE bool ReaderHandover::may_leave(const RingReader& reader,
                                                std::uint64_t samples) noexcept {
  return reader.complaint_.empty() && !reader.revoked() && !owes_epoch_end(reader, samples) &&
         reader.cursor_.phase() != ReadCursor::Phase::missed;
}

BATCHCAST_INLINE bool ReaderHandover::owes_epoch_end(const RingReader& reader,
                                                     std::uint64_t samples) noexcept {
  if (reader.between_epochs()) return false;
  if (reader.cursor_.at_epoch_end()) return true;
  const std::optional<std::uint64_t>& end = reader.cursor_.epoch_end();
  if (!end || reader.cursor_.published() < *end) return false;
  return reader.rows_.cuts_rows() || reader.leaves_out(*end - reader.cursor_.position(), samples);
}

}  // namespace batchcast::inline v0_1
