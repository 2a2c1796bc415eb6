// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "ring/writer/space_claimer.hpp"

#include <batchcast/core/assert.hpp>
#include <batchcast/core/clock.hpp>

#include <algorithm>

namespace batchcast::inline v0_1 {

Claim SpaceClaimer::claim(std::uint64_t samples_max, int timeout_ms, Ticket& ticket,
                          std::optional<std::uint64_t> interruptions) {
  BATCHCAST_ASSERT(samples_max > 0);
  std::uint64_t started_ns = 0;  // once it waits
  if (!interruptions) interruptions = interruptions_.load();
  std::lock_guard turn(turn_);
  Lock lock(state_.mutex);
  for (;;) {
    if (const std::optional<Claim> claim = claim_now(lock, samples_max, ticket)) {
      if (*claim == Claim::granted && started_ns != 0) {
        ordered::count(state_.board.progress().space_waits);
        ordered::count(state_.board.progress().space_wait_ns, now_ns() - started_ns);
      }
      return *claim;
    }
    const std::uint64_t spent_ns = started_ns != 0 ? now_ns() - started_ns : 0;
    const auto spent_ms = static_cast<std::int64_t>(spent_ns / 1'000'000);
    const bool is_late = timeout_ms >= 0 && spent_ms >= timeout_ms;
    if (is_late || interruptions_.load() != *interruptions) {
      ordered::count(state_.board.progress().space_wait_ns, spent_ns);
      return Claim::timed_out;
    }
    if (started_ns == 0) started_ns = now_ns();
    int wait_ms = limits::sleep_ms_max;
    if (timeout_ms >= 0)
      wait_ms = static_cast<int>(std::min<std::int64_t>(wait_ms, timeout_ms - spent_ms));
    wait_for_space(lock, wait_ms);
  }
}

std::optional<Claim> SpaceClaimer::try_claim(std::uint64_t samples_max, Ticket& ticket) {
  const std::unique_lock turn(turn_, std::try_to_lock);
  if (!turn.owns_lock()) return std::nullopt;
  Lock lock(state_.mutex);
  return claim_now(lock, samples_max, ticket).value_or(Claim::timed_out);
}

void SpaceClaimer::interrupt() noexcept {
  const Lock lock(state_.mutex);
  interruptions_.fetch_add(1);
  state_.wake.wake();
}

std::optional<Claim> SpaceClaimer::claim_now(Lock& lock, std::uint64_t samples_max,
                                             Ticket& ticket) {
  TicketQueue& tickets = state_.tickets;
  for (;;) {
    if (tickets.has_returned() && !state_.outcome.is_over()) {
      tickets.grant_returned(samples_max, ticket);
      return Claim::granted;
    }
    const std::uint64_t stream_end = state_.ledger.stream_end();
    if (state_.outcome.is_over() || tickets.next() >= stream_end) return Claim::ended;
    const bool is_held = state_.awaits_members;
    if (!state_.gate.is_open()) admission_.refresh_gate();
    if (admission_.has_evictions()) {
      tell_evictions(lock);
      continue;
    }
    const std::uint64_t jump_target = state_.gate.jump_target();
    const bool jumps = !is_held && jump_target != OverwriteGate::no_jump;
    if (jumps && tickets.is_empty() && !tickets.has_abandoned()) {
      publisher_.jump(jump_target);
      continue;
    }
    if (!is_held && !jumps && state_.gate.is_open() && !tickets.has_abandoned()) {
      tickets.grant(samples_max, std::min(state_.gate.limit(), stream_end), ticket);
      return Claim::granted;
    }
    return std::nullopt;
  }
}

void SpaceClaimer::tell_evictions(Lock& lock) {
  const std::vector<ConsumerAdmission::Eviction> evictions = admission_.take_evictions();
  lock.unlock();
  admission_.tell(evictions);
  lock.lock();
}

// What one round waits is the wait for the consumer that stood in the way as the round began.
void SpaceClaimer::wait_for_space(Lock& lock, int timeout_ms) {
  const ConsumerRecord* const waits_for = state_.gate.waits_for();
  const bool is_for_room = waits_for != nullptr && !state_.gate.is_limited_by_demand();
  const std::uint64_t consumer_id = is_for_room ? waits_for->consumer_id : 0;
  const std::uint64_t began_ns = now_ns();
  look_and_sleep(lock, timeout_ms);
  if (is_for_room) state_.consumers.note_wait_for(consumer_id, now_ns() - began_ns);
}

void SpaceClaimer::look_and_sleep(Lock& lock, int timeout_ms) {
  const std::uint32_t own_value = ordered::load_word(state_.wake.word());
  if (space_came_while_looking(lock)) return;
  const DeskWatch watch = announce_sleep();
  timeout_ms = std::min(timeout_ms, longest_sleep_ms(watch));
  if (need_not_sleep(watch)) {
    ordered::producer_wakes(state_.board.progress());
    return;
  }
  state_.wake.set_claimer_sleeps(true);
  // The consumer may be between its store and its wake-up: give it one more round to come.
  if (slept_in_vain(lock, watch, own_value, timeout_ms) &&
      slept_in_vain(lock, watch, own_value, timeout_ms)) {
    ordered::count(state_.board.progress().late_wakeups);
  }
  state_.wake.set_claimer_sleeps(false);
  ordered::producer_wakes(state_.board.progress());
  report_stall(lock);
}

bool SpaceClaimer::space_came_while_looking(Lock& lock) {
  const ConsumerRecord* waits_for = state_.gate.waits_for();
  if (waits_for == nullptr || state_.gate.is_open()) return false;
  const std::shared_ptr<Desk> desk = waits_for->desk;
  // Room for a quarter of the ring is worth more than room for one sample. A producer that takes
  // each sample's room as it comes is woken, and wakes others, for each.
  const std::uint64_t some = state_.gate.wake_at();
  const std::uint64_t many = some + state_.gate.limit_distance() / 4;
  lock.unlock();
  const bool found = spinner_.look([&] { return ordered::load_released(*desk) >= many; });
  const bool enough = found || ordered::load_released(*desk) >= some;
  lock.lock();
  if (enough) state_.gate.close();
  return enough;
}

SpaceClaimer::DeskWatch SpaceClaimer::announce_sleep() {
  const ConsumerRecord* waits_for = state_.gate.waits_for();
  if (waits_for == nullptr) return {};
  DeskWatch watch;
  watch.desk = waits_for->desk;
  watch.consumer_id = waits_for->consumer_id;
  watch.release_sequence = ordered::load_word(watch.desk->release_sequence);
  watch.wake_at = state_.gate.wake_at();
  ordered::producer_sleeps(state_.board.progress(), watch.consumer_id, watch.wake_at);
  return watch;
}

int SpaceClaimer::longest_sleep_ms(const DeskWatch& watch) const {
  const ConsumerRecord* waits_for = state_.gate.waits_for();
  if (!watch.desk || waits_for == nullptr) return limits::sleep_ms_max;
  // Any of several consumers may become the foremost, and only one desk is slept on. With `ahead` a
  // consumer that keeps batches comes further without releasing any, and the limit moves by epochs:
  // neither wakes the producer.
  const bool is_foremost = state_.gate.is_limited_by_demand() || waits_for->pace == Pace::free;
  const bool may_pass_unseen = state_.consumers.records().size() > 1 || state_.options.ahead != 0;
  return is_foremost && may_pass_unseen ? look_for_foremost_ms : limits::sleep_ms_max;
}

// This second look finds releases from before the sleep was announced. If it finds another consumer
// to wait for, that consumer would not wake the producer.
bool SpaceClaimer::need_not_sleep(const DeskWatch& watch) {
  admission_.refresh_gate();
  const ConsumerRecord* waits_for = state_.gate.waits_for();
  const std::uint64_t consumer_id = waits_for != nullptr ? waits_for->consumer_id : 0;
  if (consumer_id != watch.consumer_id || admission_.has_evictions()) return true;
  if (state_.awaits_members) return false;
  if (state_.tickets.has_returned()) return true;
  if (state_.tickets.has_abandoned()) return false;
  const bool jumps = state_.gate.jump_target() != OverwriteGate::no_jump;
  return jumps ? state_.tickets.is_empty() : state_.gate.is_open();
}

bool SpaceClaimer::slept_in_vain(Lock& lock, const DeskWatch& watch, std::uint32_t own_value,
                                 int timeout_ms) {
  const Shared32& own_word = state_.wake.word();
  lock.unlock();
  const Woken woken = watch.desk
                          ? futex_wait_either(watch.desk->release_sequence, watch.release_sequence,
                                              own_word, own_value, timeout_ms)
                          : futex_wait(own_word, own_value, timeout_ms);
  lock.lock();
  if (woken != Woken::timed_out || !watch.desk || state_.outcome.is_over()) return false;
  admission_.refresh_gate();
  return state_.gate.is_open() && ordered::load_released(*watch.desk) >= watch.wake_at &&
         ordered::load_word(watch.desk->release_sequence) == watch.release_sequence &&
         ordered::load_word(own_word) == own_value;
}

void SpaceClaimer::report_stall(Lock& lock) {
  admission_.refresh_gate();
  const auto stall = stalls_.look();
  if (!stall) return;
  const bool evicts = state_.options.on_stall == OnStall::evict;
  if (evicts) admission_.evict_at(stall->at, stall->text);
  lock.unlock();
  state_.log(LogLevel::warning,
             stall->text + (evicts ? ". It is evicted."
                                   : ". `batchcast evict` lets the others go on without it."));
  lock.lock();
}

}  // namespace batchcast::inline v0_1
