// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "ring/writer/publisher.hpp"

#include <batchcast/core/assert.hpp>
#include <batchcast/core/error.hpp>

#include <algorithm>

namespace batchcast::inline v0_1 {

void Publisher::publish(const Ticket& ticket, const Receipt& receipt, PendingWakes& wakes) {
  if (take_abandoned(ticket)) return;
  state_.tickets.fill(ticket, receipt);
  settle();
  advance(wakes);
}

void Publisher::settle() noexcept {
  if (state_.rows.none()) return;
  while (const auto end = state_.tickets.filled_from(state_.rows.next_position())) {
    state_.rows.settle(*end);
  }
}

void Publisher::advance(PendingWakes& wakes) {
  if (state_.outcome.is_over() || state_.attendance.first_publication_waits()) return;
  const TicketQueue::Passed passed = state_.tickets.pass_filled();
  if (!passed.samples) return;
  state_.outcome.begin_publishing();
  state_.rows.store_published(state_.tickets.published());
  state_.tickets.store_published();
  if (state_.tickets.published() >= state_.ledger.stream_end()) {
    end_stream(StreamState::finished, "", wakes);
  } else if (passed.epoch_end && !state_.ledger.length_known()) {
    // A consumer may sleep for the epoch's end alone, whose position it does not know.
    state_.consumers.wake_all(wakes);
  } else {
    state_.consumers.wake_reached(wakes);
  }
  state_.wake.wake_claimer();
}

std::string Publisher::give_back(const Ticket& ticket) {
  if (take_abandoned(ticket)) return {};
  if (state_.tickets.take_back(ticket)) {
    state_.wake.wake_claimer();
    return {};
  }
  return text(
      "a loan of positions {} to {} was dropped unpublished while later ones were out: the stream "
      "would have a hole. Publish loans that are not the newest, or end the stream with fail() and "
      "the reason",
      ticket.position, ticket.position + ticket.size - 1);
}

bool Publisher::take_abandoned(const Ticket& ticket) noexcept {
  if (!state_.tickets.take_abandoned(ticket)) return false;
  if (!state_.tickets.has_abandoned()) state_.wake.wake_claimer();
  return true;
}

void Publisher::end_epoch(PendingWakes& wakes) {
  if (state_.outcome.is_over()) return;
  if (state_.ledger.length_known()) {
    throw InvalidArgument(text(
        "batchcast: end_epoch() on a stream whose epochs have {} samples each: they end by "
        "themselves. Leave samples_per_epoch at 0 for a stream whose epochs end when you say so.",
        state_.options.samples_per_epoch));
  }
  close_epoch();
  state_.consumers.wake_all(wakes);
  state_.wake.wake();
}

void Publisher::close_epoch() {
  if (!state_.tickets.all_filled()) {
    throw InvalidArgument(
        "batchcast: end_epoch() while a loan is out. Publish or drop every loan of the epoch "
        "first: only then is it known where the epoch ends.");
  }
  if (!is_inside_epoch()) {
    throw InvalidArgument("batchcast: end_epoch() of an epoch without a sample.");
  }
  state_.ledger.end_current(state_.tickets.next(), state_.tickets.published());
  state_.gate.close();
}

bool Publisher::is_inside_epoch() const noexcept {
  const std::uint64_t next = state_.tickets.next();
  return state_.ledger.start_of(state_.ledger.epoch_of(next)) != next;
}

void Publisher::finish(PendingWakes& wakes) {
  const TicketQueue& tickets = state_.tickets;
  if (state_.outcome.is_over() || state_.ledger.stream_end() == tickets.published()) return;
  if (is_inside_epoch()) {
    if (state_.ledger.length_known()) {
      throw InvalidArgument(
          text("batchcast: finish() in the middle of epoch {}: make it whole first, or end the "
               "stream with stop().",
               state_.ledger.epoch_of(tickets.next())));
    }
    close_epoch();
  }
  state_.ledger.end_stream_at(tickets.next());
  if (tickets.published() == tickets.next()) {
    end_stream(StreamState::finished, "", wakes);
  } else {
    state_.consumers.wake_all(wakes);
    state_.wake.wake();
  }
}

void Publisher::end_stream(StreamState outcome, const std::string& text,
                           PendingWakes& wakes) noexcept {
  state_.outcome.end(outcome, text, state_.tickets.published());
  state_.consumers.wake_all(wakes);
  state_.wake.wake();
}

void Publisher::stop(const std::string& text, PendingWakes& wakes) noexcept {
  state_.outcome.cancel_drain();
  if (state_.outcome.is_over()) {
    state_.wake.wake();
  } else {
    end_stream(StreamState::stopped, text, wakes);
  }
}

void Publisher::jump(std::uint64_t target) noexcept {
  state_.attendance.jumps(state_.tickets.run_start(), state_.tickets.published());
  state_.tickets.jump(target);
  state_.gate.restart(target);
}

void Publisher::go_back(std::uint64_t cursor) {
  state_.untold.push_back(
      text("the stream goes back from position {} to {}, where its only consumer begins",
           state_.tickets.published(), cursor));
  leave_for(cursor);
}

void Publisher::go_to(std::uint64_t position) {
  state_.untold.push_back(
      text("the leading ring has no trainer any more: it goes from position {} to {}, where those "
           "of a head are",
           state_.tickets.published(), position));
  leave_for(position);
}

void Publisher::leave_for(std::uint64_t position) {
  state_.tickets.abandon_all();
  jump(position);
  state_.attendance.set_left_at(std::nullopt);  // the next trainer begins where the stream is now
  state_.wake.wake();
}

void Publisher::restart_at(std::uint64_t position, std::uint64_t epoch, std::uint64_t epoch_start,
                           PendingWakes& wakes) {
  if (state_.outcome.is_over()) return;
  const std::vector<ConsumerRecord>& records = state_.consumers.records();
  const bool one_reads = std::any_of(records.begin(), records.end(),
                                     [](const ConsumerRecord& one) { return !one.paused; });
  const std::uint64_t published = state_.tickets.published();
  BATCHCAST_ASSERT(state_.tickets.is_empty() && !one_reads);
  BATCHCAST_ASSERT((position >= published || records.empty()) && epoch_start <= position);
  if (position != published) {
    state_.tickets.restart(position, epoch, epoch_start);
    state_.gate.restart(position);
  } else if (state_.ledger.epoch_of(position) != epoch) {
    // The epoch ended while no consumer of this ring asked for samples.
    BATCHCAST_ASSERT(state_.ledger.epoch_of(position) + 1 == epoch && epoch_start == position);
    state_.ledger.end_current(position, position);
  }
  state_.gate.close();
  if (position >= state_.ledger.stream_end()) {
    end_stream(StreamState::finished, "", wakes);
  } else {
    state_.consumers.wake_all(wakes);
    state_.wake.wake();
  }
}

}  // namespace batchcast::inline v0_1
