// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/look_ahead.hpp>

#include <batchcast/core/error.hpp>
#include <batchcast/core/inline.hpp>

#include <algorithm>

namespace batchcast::inline v0_1 {

BATCHCAST_INLINE std::optional<Run> LookAhead::find(Look& look, std::uint64_t samples,
                                                    bool ends_here) {
  if (reader_.rows_.cuts_rows()) return find_by_rows(look, samples, ends_here);
  if (const std::optional<Place> place = next_place(samples, ends_here)) {
    look.wanted = std::min(saturating_add(place->at.position, reader_.share_.whole(samples)),
                           place->end.value_or(limits::position_max));
    const bool whole = look.published >= look.wanted;
    if (whole || (reader_.takes_rest(look.state) && reader_.options_.tail == Tail::keep)) {
      if (auto there = run_at(*place, samples, std::min(look.published, look.wanted))) return there;
    }
    if (whole) {
      throw InvalidArgument(
          text("batchcast: epoch {} of stream `{}` has no batch of {} samples: it is shorter, and "
               "its tail is dropped.",
               place->epoch, reader_.options_.stream, samples));
    }
    refuse_unpassed(look, place->at.position);
    if (reader_.options_.pace != Pace::free) reader_.room_.check(look.wanted);
    reader_.make_row_room(look, place->at.position, look.wanted, RingReader::Room::make);
  }
  if (reader_.is_over(look.state)) reader_.throw_over(look.state);
  reader_.room_.make_for_skip();
  return std::nullopt;
}

BATCHCAST_INLINE std::optional<Run> LookAhead::find_by_rows(Look& look, std::uint64_t samples,
                                                            bool ends_here) {
  std::optional<Place> place = next_place(samples, ends_here);
  while (place) {
    const RowReading::Samples there{place->at, look.published, place->end, samples};
    const RowReading::Found found = reader_.rows_.cut(there, reader_.takes_rest(look.state));
    if (!reader_.rows_.is_cut_sound(place->at.position)) return look.wanted = 0, std::nullopt;
    reader_.rows_.refuse(found, there);
    if (found == RowReading::Found::batch) return reader_.rows_.run(there, place->epoch);
    if (found == RowReading::Found::more) {
      // The next epoch begins at the cursor where this one is delivered, and is not begun yet.
      const bool is_here = !reader_.between_epochs() && place->epoch == reader_.cursor_.epoch() &&
                           place->at.position == reader_.cursor_.position();
      if (is_here && reader_.rows_.pass_dropped(there)) return look.wanted = 0, std::nullopt;
      if (reader_.is_over(look.state)) break;
      look.wanted = std::max(look.published, place->at.position) + 1;
      const std::uint64_t begin = reader_.rows_.begin_of_batch(there);
      refuse_unpassed(look, begin);
      reader_.make_row_room(look, begin, look.wanted, RingReader::Room::make);
      if (reader_.options_.pace != Pace::free) reader_.room_.check(look.wanted);
      break;
    }
    // The end of a stream that is over may be within the epoch.
    if (!place->end || look.published < *place->end) break;
    if (is_whole_epoch(*place)) {
      throw InvalidArgument(text("batchcast: epoch {} of stream `{}` has no batch: {}.",
                                 place->epoch, reader_.options_.stream,
                                 reader_.rows_.why_no_batch()));
    }
    place = Place{{*place->end, 0}, place->epoch + 1, reader_.cursor_.end_of(place->epoch + 1)};
  }
  if (reader_.is_over(look.state)) reader_.throw_over(look.state);
  reader_.room_.make_for_skip();
  return std::nullopt;
}

/// It begins where its epoch does.
BATCHCAST_INLINE bool LookAhead::is_whole_epoch(const Place& place) const noexcept {
  if (place.epoch == reader_.cursor_.epoch()) {
    return place.at == RowPlace{reader_.cursor_.epoch_start(), 0};
  }
  const std::uint64_t length = reader_.board_.head().samples_per_epoch;
  return length == 0 || place.at.position + length == *place.end;
}

BATCHCAST_INLINE void LookAhead::refuse_unpassed(const Look& look, std::uint64_t begin) const {
  const std::uint64_t cursor = reader_.cursor_.position();
  // The producer waits for no reader of free pace, and for none that skips the rest of an epoch.
  if (begin <= cursor || reader_.options_.pace == Pace::free ||
      reader_.cursor_.phase() == ReadCursor::Phase::skipping) {
    return;
  }
  const bool lacks_positions = look.wanted > saturating_add(cursor, reader_.capacity_);
  const auto lacks_rows = reader_.rows_.axis_filled_before(begin, look.wanted);
  if (!lacks_positions && lacks_rows.empty()) return;
  throw RingTooSmall(
      text("batchcast: the next batch of stream `{}` begins at position {} or later, and this "
           "consumer is at position {}. What lies between is in no batch, and leaves the ring no "
           "room for the batch. Call `next`, which passes it, or give the stream more {}.",
           reader_.options_.stream, begin, cursor,
           lacks_positions ? text("memory ({})", reader_.options_.memory_option)
                           : text("rows of the axis `{}` (--rows)", lacks_rows)));
}

/// Where the next batch begins; nothing while the board does not tell its epoch.
BATCHCAST_INLINE std::optional<LookAhead::Place> LookAhead::next_place(std::uint64_t samples,
                                                                       bool ends_here) {
  if (reader_.cursor_.phase() == ReadCursor::Phase::missed) static_cast<void>(reader_.missed_end());
  if (reader_.cursor_.phase() == ReadCursor::Phase::unplaced && !reader_.cursor_.find_epoch())
    return std::nullopt;
  reader_.cursor_.look_for_end();
  Place place{reader_.cursor_.place(), reader_.cursor_.epoch(), reader_.cursor_.epoch_end()};
  if (place.at.row != 0 && !reader_.rows_.has_window()) place.at = {place.at.position + 1, 0};
  if (reader_.options_.pace == Pace::free && place.at.position < reader_.oldest_there()) {
    place.at = {reader_.after_miss(reader_.oldest_there(), place), 0};
  }
  // The epoch of the cursor has no further batch for this reader: it is over, or was left.
  const bool is_at_end =
      reader_.cursor_.phase() == ReadCursor::Phase::skipping || ends_here ||
      (!reader_.between_epochs() && place.end && place.at.position >= *place.end);
  const bool has_batch =
      !is_at_end &&
      (!place.end || (place.at.position < *place.end &&
                      (reader_.rows_.cuts_rows() || run_at(place, samples, *place.end))));
  if (has_batch) return place;
  if (!place.end) return std::nullopt;
  place = {{*place.end, 0}, place.epoch + 1, reader_.cursor_.end_of(place.epoch + 1)};
  return reader_.options_.pace == Pace::free ? caught_up(place) : place;
}

/// A reader of `free` pace may be some epochs late. `place`: where an epoch begins.
BATCHCAST_INLINE LookAhead::Place LookAhead::caught_up(Place place) const noexcept {
  const std::uint64_t oldest = reader_.oldest_there();
  if (place.at.position >= oldest) return place;
  const auto begin = [&](std::uint64_t epoch, std::uint64_t position) {
    return Place{{position, 0}, epoch, reader_.cursor_.end_of(epoch)};
  };
  if (reader_.cursor_.epochs_have_one_length() && place.end && *place.end <= oldest) {
    const std::uint64_t length = *place.end - place.at.position;
    const std::uint64_t epochs = (oldest - place.at.position) / length;
    place = begin(place.epoch + epochs, place.at.position + epochs * length);
  }
  if (place.at.position >= oldest) return place;
  place.at = {reader_.after_miss(oldest, place), 0};
  return place.end && place.at.position >= *place.end ? begin(place.epoch + 1, *place.end) : place;
}

/// The run of this reader among the samples below `published`; nothing where it gets none.
BATCHCAST_INLINE std::optional<Run> LookAhead::run_at(const Place& place, std::uint64_t samples,
                                                      std::uint64_t published) const noexcept {
  if (published <= place.at.position) return std::nullopt;
  const std::uint64_t there =
      std::min(published - place.at.position, reader_.share_.whole(samples));
  const auto part = reader_.share_.part_of(samples, there);
  return part ? std::optional(RingReader::run_of(*part, place, there)) : std::nullopt;
}

}  // namespace batchcast::inline v0_1
