// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "ring/writer/ticket_queue.hpp"

#include <batchcast/core/assert.hpp>

#include <algorithm>

namespace batchcast::inline v0_1 {

TicketQueue::TicketQueue(Board board, EpochLedger& ledger, std::uint64_t start) noexcept
    : board_(board),
      ledger_(ledger),
      start_(start),
      capacity_(board_.head().capacity),
      next_(start),
      claimed_(start),
      published_(start),
      valid_from_(start) {
  ordered::set_release(board_.progress().valid_from, valid_from_);
  ordered::claim(board_.progress(), claimed_);
  store_published();
}

std::uint64_t TicketQueue::samples_published() const noexcept {
  return published_ - start_ - left_out_;
}

bool TicketQueue::all_filled() const noexcept {
  return std::all_of(tickets_.begin(), tickets_.end(),
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
  ordered::claim(board_.progress(), claimed_);
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
  return true;
}

TicketQueue::Passed TicketQueue::pass_filled() noexcept {
  Passed passed;
  while (!tickets_.empty() && tickets_.front().filled) {
    const Outstanding& one = tickets_.front();
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
  ordered::claim(board_.progress(), claimed_);
  ordered::set_release(board_.progress().valid_from, valid_from_);
}

}  // namespace batchcast::inline v0_1
