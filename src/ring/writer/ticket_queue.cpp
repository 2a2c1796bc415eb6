// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "ring/writer/ticket_queue.hpp"

#include <batchcast/core/assert.hpp>

#include <algorithm>

namespace batchcast::inline v0_1 {

TicketQueue::TicketQueue(Board board, EpochLedger& ledger, RowArenas& rows,
                         std::uint64_t start) noexcept
    : board_(board),
      ledger_(ledger),
      rows_(rows),
      start_(start),
      capacity_(board_.head().capacity),
      next_(start),
      claimed_(start),
      published_(start),
      valid_from_(start) {
  ordered::set_release(board_.progress().valid_from, valid_from_);
  store_claimed();
  store_published();
}

std::uint64_t TicketQueue::samples_published() const noexcept {
  return published_ - start_ - left_out_;
}

bool TicketQueue::all_filled() const noexcept {
  return !has_returned() && std::all_of(tickets_.begin(), tickets_.end(),
                                        [](const Outstanding& one) { return one.filled; });
}

void TicketQueue::grant(std::uint64_t samples_max, std::uint64_t limit, Ticket& ticket) {
  ticket.position = next_;
  ticket.epoch = ledger_.epoch_of(next_);
  ticket.epoch_start = ledger_.start_of(ticket.epoch);
  if (const auto end = ledger_.end_of(ticket.epoch)) limit = std::min(limit, *end);
  ticket.size = std::min(samples_max, limit - next_);
  next_ += ticket.size;
  claimed_ = std::max(claimed_, next_);
  Outstanding& one = tickets_.emplace_back();  // written in place: a copy would wait for its stores
  one.start = ticket.position;
  one.end = next_;
  if (!rows_.none()) one.owner = this_thread_id();
  store_claimed();
}

TicketQueue::Outstanding& TicketQueue::outstanding(const Ticket& ticket) noexcept {
  const auto found = std::lower_bound(
      tickets_.begin(), tickets_.end(), ticket.position,
      [](const Outstanding& one, std::uint64_t position) { return one.start < position; });
  BATCHCAST_ASSERT(found != tickets_.end() && found->start == ticket.position);
  return *found;
}

void TicketQueue::shorten(Ticket& ticket, std::uint64_t end) {
  Outstanding& one = outstanding(ticket);
  BATCHCAST_ASSERT(end > one.start && end < one.end);
  rows_.take_back(end);
  if (&one == &tickets_.back()) {
    next_ = end;
  } else {
    // What is returned already came from the same ticket, and follows this one.
    BATCHCAST_ASSERT(!has_returned() || returned_.start == one.end);
    const std::uint64_t until = has_returned() ? returned_.end : one.end;
    returned_ = {end, until, this_thread_id()};
  }
  one.end = end;
  ticket.size = end - ticket.position;
}

void TicketQueue::grant_returned(std::uint64_t samples_max, Ticket& ticket) {
  ticket.position = returned_.start;
  ticket.epoch = ledger_.epoch_of(ticket.position);
  ticket.epoch_start = ledger_.start_of(ticket.epoch);
  ticket.size = std::min(samples_max, returned_.end - returned_.start);
  returned_.start += ticket.size;
  const auto after = std::lower_bound(
      tickets_.begin(), tickets_.end(), ticket.position,
      [](const Outstanding& one, std::uint64_t position) { return one.start < position; });
  Outstanding one;
  one.start = ticket.position;
  one.end = returned_.start;
  one.owner = this_thread_id();
  tickets_.insert(after, one);
}

void TicketQueue::note_taker(const Ticket& ticket) noexcept {
  Outstanding& one = outstanding(ticket);
  if (one.owner != this_thread_id()) one.owner = {};
}

std::optional<std::uint64_t> TicketQueue::own_before(const Ticket& ticket,
                                                     std::uint64_t from) const noexcept {
  const ThreadId self = this_thread_id();
  if (has_returned() && returned_.start < ticket.position && returned_.owner == self) {
    return returned_.start;
  }
  for (const Outstanding& one : tickets_) {
    if (one.start >= ticket.position) break;
    if (one.end > from && !one.filled && one.owner == self) return one.start;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> TicketQueue::filled_from(std::uint64_t position) const noexcept {
  const auto found =
      std::upper_bound(tickets_.begin(), tickets_.end(), position,
                       [](std::uint64_t at, const Outstanding& one) { return at < one.end; });
  const bool has_it = found != tickets_.end() && found->start <= position && found->filled;
  return has_it ? std::optional(found->end) : std::nullopt;
}

void TicketQueue::fill(const Ticket& ticket, const Receipt& receipt) noexcept {
  const auto found = std::lower_bound(
      tickets_.begin(), tickets_.end(), ticket.position,
      [](const Outstanding& one, std::uint64_t position) { return one.start < position; });
  BATCHCAST_ASSERT(found != tickets_.end() && found->start == ticket.position && !found->filled);
  found->filled = true;
  found->receipt = receipt;
}

bool TicketQueue::take_back(const Ticket& ticket) noexcept {
  if (tickets_.empty() || tickets_.back().start != ticket.position) return false;
  tickets_.pop_back();
  next_ = ticket.position;
  rows_.take_back(next_);
  if (has_returned() && returned_.end == next_) {
    next_ = returned_.start;
    returned_ = {};
  }
  return true;
}

TicketQueue::Passed TicketQueue::pass_filled() noexcept {
  Passed passed;
  while (!tickets_.empty() && tickets_.front().filled) {
    const Outstanding& one = tickets_.front();
    if (has_returned() && returned_.start < one.start) break;
    passed.epoch_end |= ledger_.published(one.start, one.end, one.receipt);
    passed.samples = true;
    published_ = one.end;
    tickets_.pop_front();
  }
  return passed;
}

void TicketQueue::abandon_all() {
  for (const Outstanding& one : tickets_) {
    if (!one.filled) abandoned_.push_back(one.start);
  }
  tickets_.clear();
  returned_ = {};
}

bool TicketQueue::is_abandoned(const Ticket& ticket) const noexcept {
  return std::find(abandoned_.begin(), abandoned_.end(), ticket.position) != abandoned_.end();
}

bool TicketQueue::take_abandoned(const Ticket& ticket) noexcept {
  const auto found = std::find(abandoned_.begin(), abandoned_.end(), ticket.position);
  if (found == abandoned_.end()) return false;
  abandoned_.erase(found);
  return true;
}

void TicketQueue::jump(std::uint64_t target) noexcept {
  left_out_ += target - published_;
  claim_from(target);
  ledger_.jumped(target);
  store_published();
}

void TicketQueue::restart(std::uint64_t position, std::uint64_t epoch,
                          std::uint64_t epoch_start) noexcept {
  claim_from(position);
  ledger_.restarted(position, epoch, epoch_start);
  store_published();
}

void TicketQueue::claim_from(std::uint64_t position) noexcept {
  BATCHCAST_ASSERT(tickets_.empty());
  next_ = claimed_ = published_ = valid_from_ = position;
  rows_.restart(position);
  store_claimed();
  ordered::set_release(board_.progress().valid_from, valid_from_);
}

}  // namespace batchcast::inline v0_1
