// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/rank_reader.hpp>

#include <batchcast/core/assert.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/inline.hpp>
#include <batchcast/core/limits.hpp>
#include <batchcast/ring/look_ahead.hpp>

#include <utility>

namespace batchcast::inline v0_1 {

BATCHCAST_INLINE RankReader::RankReader(RingReader& reader, BoardView board, Desk& desk,
                                        RankHost& host, Group group)
    : reader_(reader),
      cursor_(reader.cursor_),
      board_(board),
      host_(host),
      group_(std::move(group)),
      state_(board, desk) {}

BATCHCAST_INLINE Next RankReader::next(std::uint64_t samples, int timeout_ms, Run& run, Room room) {
  BATCHCAST_ASSERT(samples > 0);
  reader_.begin_call();
  const std::uint64_t deadline_ns = RingReader::deadline_after(timeout_ms);
  for (;;) {
    Look look{cursor_.state()};
    if (enter_epoch(look, room)) {
      if (end_epoch_if_over(look, samples)) return Next::end_of_epoch;
      if (reader_.take_if_there(look, samples, room, run)) return Next::batch;
    }
    if (!reader_.sleep(look, deadline_ns)) return Next::timed_out;
  }
}

BATCHCAST_INLINE bool RankReader::peek(std::uint64_t samples, int timeout_ms, Run& run) {
  BATCHCAST_ASSERT(samples > 0);
  reader_.check();
  const std::uint64_t deadline_ns = RingReader::deadline_after(timeout_ms);
  for (;;) {
    Look look{cursor_.state(), cursor_.published()};
    cursor_.note_group();
    const bool is_in_epoch = !cursor_.between_epochs();
    if (is_in_epoch) check_group(cursor_.epoch());
    const bool ends_here = is_in_epoch && state_.ends_here(cursor_.epoch(), place());
    if (const auto there = LookAhead(reader_).find(look, samples, ends_here)) {
      run = *there;
      return true;
    }
    if (!reader_.sleep(look, deadline_ns, false)) return false;
  }
}

BATCHCAST_INLINE std::optional<bool> RankReader::has_next_epoch(int timeout_ms) {
  reader_.begin_call();
  if (!cursor_.between_epochs()) return reader_.is_begun_epoch_real();
  const std::uint64_t deadline_ns = RingReader::deadline_after(timeout_ms);
  for (;;) {
    Look look{cursor_.state()};
    const bool is_found = reader_.find_next_epoch(Counted::elsewhere);
    if (is_found) cursor_.look_for_end();  // one that is known already is not awaited in `sleep`
    const bool met = has_met(look.state);
    if (met) {
      reader_.throw_complaint();
      const std::optional<bool> comes = reader_.next_epoch_comes(look.state, is_found);
      if (comes == false) return false;
      check_group(next_epoch());
      if (comes) return true;
    }
    reader_.await_next_epoch(look, is_found && met);
    if (!reader_.sleep(look, deadline_ns)) return std::nullopt;
  }
}

// ---- between epochs

/// The rank is in an epoch, or it has just begun the next one.
BATCHCAST_INLINE bool RankReader::enter_epoch(Look& look, Room room) {
  if (!cursor_.between_epochs()) return true;
  const bool is_found = reader_.find_next_epoch(Counted::elsewhere);
  if (!is_found && reader_.is_over(look.state)) reader_.throw_over(look.state);
  if (!may_begin(look.state) || !is_found) {
    reader_.await_begin(look, is_found, room);
    return false;
  }
  reader_.throw_complaint();
  reader_.begin_epoch();
  state_.begin_epoch(cursor_.epoch());
  return true;
}

/// Whether the group lets this rank begin the next epoch.
BATCHCAST_INLINE bool RankReader::may_begin(StreamState state) {
  const bool met = has_met(state);
  if (!met) cursor_.look_for_end();  // one that is known already is not awaited in `sleep`
  check_group(next_epoch());
  return met;
}

BATCHCAST_INLINE bool RankReader::exists(std::uint64_t epoch) const noexcept {
  const std::uint64_t epochs = board_.head().epochs;
  return !cursor_.epochs_have_one_length() || epochs == 0 || epoch < epochs;
}

/// All ranks have ended the last epoch, or it is known that not all will.
BATCHCAST_INLINE bool RankReader::has_met(StreamState state) {
  cursor_.note_group();
  if (!state_.awaits_receipt()) return true;
  // While a finished stream drains its producer still tells, unless it gave up waiting and ended.
  const bool told_no_more =
      reader_.producer_dead_ ||
      (detail::has_ended(state) && (state != StreamState::draining || host_.is_hung_up()));
  const auto receipt = state_.receipt();  // after that: it may be the last thing told
  if (!receipt && !state_.will_not_meet()) {
    if (!told_no_more) return false;
    // The next producer tells it.
    const bool rides = reader_.options_.rides && !detail::has_ended(state);
    if (rides && exists(next_epoch())) reader_.throw_over(state);
  }
  reader_.check();  // the entry may be another consumer's by now
  state_.count_receipt();
  count_receipt(receipt.value_or(GroupReceipt::unknown));
  return true;
}

/// Of the epoch that ended last.
BATCHCAST_INLINE void RankReader::count_receipt(GroupReceipt receipt) {
  using Verdict = EpochReceipt::Verdict;
  const std::uint64_t epoch = next_epoch() - 1;
  switch (receipt) {
    case GroupReceipt::unknown:
      reader_.count_receipt(epoch, Verdict::unknown, {});
      break;
    case GroupReceipt::matched:
      reader_.count_receipt(epoch, Verdict::matched, {});
      break;
    case GroupReceipt::mismatched:
      reader_.count_receipt(
          epoch, Verdict::mismatched,
          text("the samples or rows of all ranks of group `{}` together are others than were "
               "published",
               group_.name));
      break;
  }
}

BATCHCAST_INLINE std::uint64_t RankReader::next_epoch() const noexcept {
  return state_.next_epoch().value_or(cursor_.epoch());
}

// ---- when the producer dies

BATCHCAST_INLINE RowPlace RankReader::end_of_drain() const noexcept {
  const std::uint64_t samples = board_.head().samples_per_epoch;
  const std::uint64_t position = cursor_.position();
  if (!cursor_.between_epochs()) return {(cursor_.epoch() + 1) * samples, 0};
  const bool waits = state_.awaits_receipt() && !state_.receipt() && !state_.will_not_meet();
  return waits ? place() : RowPlace{(position / samples + 1) * samples, 0};
}

BATCHCAST_INLINE std::optional<std::uint64_t> RankReader::epoch_at_stake() const noexcept {
  const bool is_between = cursor_.between_epochs();
  if (is_between && state_.awaits_receipt() && !state_.receipt()) return std::nullopt;
  const std::uint64_t epoch = is_between ? next_epoch() : cursor_.epoch();
  const bool has_end = cursor_.published() >= (epoch + 1) * board_.head().samples_per_epoch;
  // Its end is known where a rank left it in order; that rank may be the one that is gone.
  const bool is_left = !is_between && state_.ends_here(epoch, {limits::position_max, 0});
  return has_end || is_left || !exists(epoch) ? std::nullopt : std::optional(epoch);
}

BATCHCAST_INLINE void RankReader::check_group_for(const RankReader& last) {
  const auto epoch = last.epoch_at_stake();
  const auto lost = epoch ? state_.lost_for(*epoch) : std::nullopt;
  if (!lost) return;
  // The entry may be another consumer's by now. Where the stream is over, that rank may have gone
  // because of it. In both cases the reader finds out once the last ring is drained.
  const bool is_own = !reader_.revoked() || state_.lost_before_eviction();
  if (is_own && !reader_.is_over(cursor_.state())) break_up(*lost);
}

BATCHCAST_INLINE void RankReader::take_over(const RankReader& last) noexcept {
  const bool reads = !cursor_.between_epochs() && exists(cursor_.epoch());
  state_.take_over(last.state_, reads ? cursor_.epoch() + 1 : 0);
}

// ---- is the epoch over?

/// Also where another rank ended it for all.
BATCHCAST_INLINE bool RankReader::end_epoch_if_over(Look& look, std::uint64_t samples) {
  do {
    look.published = cursor_.look();
  } while (reader_.rows_.drop_rest(look.published));
  if (cursor_.at_epoch_end()) {
    tell_end(place(), false);
    cursor_.end_epoch();
    return true;
  }
  const bool is_left = is_left_here();
  if (!is_left && !reader_.is_rest_left_out(look, samples)) return false;
  pass_rest(is_left);
  return true;
}

/// In an epoch: whether a rank left it here or before. Then it is over for this one too.
BATCHCAST_INLINE bool RankReader::is_left_here() {
  cursor_.note_group();
  check_group(cursor_.epoch());
  if (!state_.ends_here(cursor_.epoch(), place())) return false;
  reader_.check();  // the entry may be another consumer's by now
  return true;
}

/// Skips what is left of the epoch. `early`: the other ranks of the group will, too.
BATCHCAST_INLINE void RankReader::pass_rest(bool early) noexcept {
  const RowPlace left = place();
  // Of what no rank gets, the first one has the receipt.
  const Counted others = reader_.share_.is_first() ? Counted::here : Counted::elsewhere;
  switch (reader_.pass_rest(early ? Counted::nowhere : others)) {
    case RingReader::Rest::was_over:
      break;
    case RingReader::Rest::unbegun:
      state_.leave_unbegun();
      break;
    case RingReader::Rest::skipped:
      tell_end(left, early);
      break;
    case RingReader::Rest::passed:
      tell_end(left, early && left.position < cursor_.position());
      cursor_.end_epoch();
      break;
  }
}

/// The producer compares the receipts of all ranks.
BATCHCAST_INLINE void RankReader::tell_end(RowPlace at, bool early) noexcept {
  const std::uint64_t epoch = cursor_.epoch();
  state_.end_epoch(epoch);
  const EpochReceipt& receipt = reader_.receipt_;
  host_.tell_epoch_end(
      {epoch, at, early, receipt.is_whole(), receipt.sum(), receipt.row_receipt()});
}

// ---- the group breaks

/// Throws GroupBroken if a rank is gone without which that epoch is not available. Beyond the last
/// one there is nothing to lose.
BATCHCAST_INLINE void RankReader::check_group(std::uint64_t epoch) {
  const auto lost = state_.lost_for(epoch);
  if (!lost || !exists(epoch)) return;
  reader_.check();  // the entry may be another consumer's by now
  // That rank may have gone because the stream is over: then this one learns that as well.
  const StreamState state = cursor_.state();
  if (reader_.is_over(state) && cursor_.published() <= cursor_.position()) {
    reader_.throw_over(state);
  }
  break_up(*lost);
}

BATCHCAST_INLINE void RankReader::break_up(const detail::LostRank& lost) {
  {
    const std::lock_guard lock(broken_mutex_);
    broken_ = lost.text();
  }
  host_.give_up_place();
  throw_broken();
}

BATCHCAST_INLINE std::string RankReader::why_revoked() const {
  {
    const std::lock_guard lock(broken_mutex_);
    // The farewell may be late; the wait for it is bounded.
    if (const auto lost = state_.lost_before_eviction(); lost && broken_.empty()) {
      broken_ = lost->text();
    }
    if (broken_.empty()) {
      std::string why = host_.why_evicted();
      if (!host_.group_broke()) return why;
      broken_ = std::move(why);
    }
  }
  throw_broken();
}

BATCHCAST_INLINE void RankReader::throw_broken() const {
  const std::lock_guard lock(broken_mutex_);
  throw GroupBroken(text(
      "batchcast: group `{}` of stream `{}` is broken: {}. Samples of batches that this rank still "
      "held may have been overwritten: do not use them. Attach all ranks again to go on.",
      group_.name, reader_.options_.stream, broken_));
}

BATCHCAST_INLINE ReaderStatus RankReader::status() const noexcept {
  ReaderStatus status = reader_.status();
  if (const auto receipt = state_.receipt()) {
    status.epochs_matched += *receipt == GroupReceipt::matched ? 1U : 0U;
    status.epochs_mismatched += *receipt == GroupReceipt::mismatched ? 1U : 0U;
    status.epochs_unknown += *receipt == GroupReceipt::unknown ? 1U : 0U;
  }
  return status;
}

}  // namespace batchcast::inline v0_1
