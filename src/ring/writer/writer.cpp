// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "ring/writer/writer.hpp"

#include <batchcast/core/assert.hpp>
#include <batchcast/core/clock.hpp>
#include <batchcast/core/error.hpp>

#include "ring/writer/pending_wakes.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

// Tickets, the wait for space, and publication. Ends are in writer_ends.cpp, consumers in
// writer_consumers.cpp, what is told of them in writer_status.cpp, and what further rings of the
// stream ask in writer_mirrors.cpp.
namespace batchcast::inline v0_1 {
namespace {

constexpr int look_for_foremost_ms = 10;

}  // namespace

RingWriter::RingWriter(Board board, Options options)
    : board_(board),
      options_(std::move(options)),
      capacity_(board_.head().capacity),
      spinner_(options_.spin_ns),
      ledger_(board, options_.samples_per_epoch, options_.epochs, options_.start),
      next_(options_.start),
      claimed_(options_.start),
      published_(options_.start),
      demand_base_(options_.start),
      valid_from_(options_.start),
      stream_end_(ledger_.stream_end()),
      next_consumer_id_(options_.first_consumer_id),
      last_leave_ns_(now_ns()) {
  ordered::set_release(board_.progress().valid_from, valid_from_);
  ordered::claim(board_.progress(), claimed_);
  ordered::publish(board_.progress(), published_);
}

Claim RingWriter::claim(std::uint64_t samples_max, int timeout_ms, Ticket& ticket) {
  BATCHCAST_ASSERT(samples_max > 0);
  std::uint64_t started_ns = 0;  // once it waits
  std::lock_guard turn(turn_);
  Lock lock(mutex_);
  for (;;) {
    if (over() || next_ >= stream_end_) return Claim::ended;
    if (next_ >= limit_) refresh_limit();
    if (!evictions_.empty()) {
      std::vector<Eviction> evictions = std::exchange(evictions_, {});
      lock.unlock();
      tell_evicted(std::move(evictions));
      lock.lock();
      continue;
    }
    std::uint64_t target = 0;
    const bool jumping = jump_is_due(target);
    if (jumping && is_clear()) {
      jump(target);
      continue;
    }
    if (!jumping && next_ < limit_ && abandoned_.empty()) {
      grant(samples_max, ticket);
      if (started_ns != 0) {
        ordered::count(board_.progress().space_waits);
        ordered::count(board_.progress().space_wait_ns, now_ns() - started_ns);
      }
      return Claim::granted;
    }
    if (started_ns == 0) started_ns = now_ns();
    int wait_ms = limits::sleep_ms_max;
    if (timeout_ms >= 0) {
      const auto spent_ms = static_cast<std::int64_t>((now_ns() - started_ns) / 1'000'000);
      if (spent_ms >= timeout_ms) return Claim::timed_out;
      wait_ms = static_cast<int>(std::min<std::int64_t>(wait_ms, timeout_ms - spent_ms));
    }
    wait_for_space(lock, wait_ms);
  }
}

void RingWriter::grant(std::uint64_t samples_max, Ticket& ticket) {
  ticket.position = next_;
  ticket.epoch = ledger_.epoch_of(next_);
  ticket.epoch_start = ledger_.start_of(ticket.epoch);
  std::uint64_t limit = std::min(limit_, stream_end_);
  if (const auto end = ledger_.end_of(ticket.epoch)) limit = std::min(limit, *end);
  ticket.size = std::min(samples_max, limit - next_);
  next_ += ticket.size;
  claimed_ = std::max(claimed_, next_);
  outstanding_.push_back({ticket.position, next_, false, {}});
  ordered::claim(board_.progress(), claimed_);
}

RingWriter::Standing RingWriter::standing() const {
  Standing all;
  for (std::size_t i = 0; i < attached_.size(); ++i) {
    const Attached& one = attached_[i];
    if (one.paused) continue;
    const auto position = position_of(one);
    if (!position) {
      all.one_skips = true;
      continue;
    }
    if (one.pace == Pace::free) {
      if (all.foremost_free == none || *position > all.free_position) {
        all.free_position = *position, all.foremost_free = i;
      }
    } else if (all.slowest == none || *position < all.lowest) {
      all.lowest = *position, all.slowest = i;
    }
    // A consumer that keeps batches waits for the samples after them. Its desk is believed no
    // further than the ring reaches, which no desk can change.
    const std::uint64_t had =
        std::clamp(ordered::get(one.desk->cursor), *position, saturating_add(*position, capacity_));
    if (all.foremost == none || had > all.furthest) all.furthest = had, all.foremost = i;
  }
  return all;
}

void RingWriter::refresh_limit() {
  evict_offenders();
  const Standing all = standing();
  slowest_ = all.slowest;
  waits_for_ = all.slowest != none ? all.slowest : all.foremost_free;
  reach_ = capacity_;
  std::uint64_t limit = demand_limit(all);
  far_ahead_ = all.slowest == none;
  const std::uint64_t ahead = ahead_limit(all);
  if (ahead < limit) {
    limit = ahead;
    far_ahead_ = true;
    waits_for_ = all.foremost;
    if (waits_for_ != none) reach_ = saturating_sub(limit, attached_[waits_for_].floor);
  }
  // Somebody may already stand beyond what is published; two samples must still not share a place.
  // Nor may the book forget epochs that are not published.
  limit_ = std::min(
      {limit, saturating_add(published_, capacity_), stream_end_, ledger_.table_limit(published_)});
}

std::uint64_t RingWriter::demand_limit(const Standing& all) {
  if (all.slowest != none) {
    demand_base_ = std::max(demand_base_, std::min(all.lowest, published_));
    return std::min(saturating_add(all.lowest, capacity_), ledger_.table_limit(all.lowest));
  }
  if (all.one_skips || options_.free_running) return limits::position_max;
  if (all.foremost_free != none) {
    demand_base_ = std::max(demand_base_, std::min(all.free_position, published_));
    return saturating_add(all.free_position, capacity_);
  }
  return saturating_add(demand_base_, capacity_);
}

std::uint64_t RingWriter::ahead_limit(const Standing& all) const {
  if (all.one_skips || options_.free_running) return limits::position_max;
  std::optional<std::uint64_t> from;
  std::uint64_t held = limits::position_max;
  if (all.foremost != none) {
    from = all.furthest;
  } else {
    for (const Attached& one : attached_) {  // between two loops it goes on where it stands
      const bool stands = !one.observes && !one.mirrors && !one.fresh;
      if (stands) from = std::max(from.value_or(0), one.floor);
    }
    if (!from) {
      from = rewind_start(oldest_held(claimed_, capacity_, valid_from_));
      if (from) held = saturating_add(*from, capacity_);  // the next consumer begins there
    }
  }
  if (!from) return limits::position_max;
  return options_.ahead == 0 ? held : std::min(held, ledger_.ahead_of(*from, options_.ahead));
}

std::uint64_t RingWriter::wakes_at() const noexcept {
  return std::max(attached_[waits_for_].floor + 1, saturating_sub(next_ + 1, reach_));
}

bool RingWriter::jump_is_due(std::uint64_t& target) {
  if (!options_.jumps || !ledger_.length_known() || held_back()) return false;
  std::uint64_t lowest = limits::position_max;
  bool somebody = false;
  for (Attached& consumer : attached_) {
    if (consumer.paused) continue;
    somebody = true;
    // `floor` was brought up to date by the last refresh, and standing still is the safe mistake.
    lowest = std::min(lowest, consumer.floor);
  }
  target = lowest;
  return somebody && lowest > claimed_ && lowest < stream_end_;
}

void RingWriter::jump(std::uint64_t target) {
  BATCHCAST_ASSERT(outstanding_.empty());
  left_out_ += target - published_;  // modulo 2^64, where it goes back
  next_ = claimed_ = published_ = valid_from_ = demand_base_ = target;
  ordered::claim(board_.progress(), claimed_);
  ordered::set_release(board_.progress().valid_from, valid_from_);
  ledger_.jumped(target);
  ordered::publish(board_.progress(), published_);
  limit_ = 0;
}

void RingWriter::wait_for_space(Lock& lock, int timeout_ms) {
  const std::uint32_t private_value = ordered::load_word(private_word_);
  if (space_came_while_looking(lock)) return;
  std::shared_ptr<Desk> desk;
  std::uint32_t desk_value = 0;
  std::uint64_t consumer_id = 0;
  std::uint64_t wanted = 0;
  if (waits_for_ != none && waits_for_ < attached_.size()) {
    const Attached& one = attached_[waits_for_];
    desk = one.desk;
    consumer_id = one.consumer_id;
    desk_value = ordered::load_word(desk->release_sequence);
    wanted = wakes_at();
    ordered::producer_sleeps(board_.progress(), consumer_id, wanted);
    // Any of several consumers may become the foremost, and only one desk is slept on. And one
    // that keeps batches comes further without letting go of any, which does not wake the producer.
    const bool is_foremost = far_ahead_ || one.pace == Pace::free;
    const bool may_pass_unseen = attached_.size() > 1 || ordered::get(desk->leases_held) > 1;
    if (is_foremost && may_pass_unseen) timeout_ms = std::min(timeout_ms, look_for_foremost_ms);
  }
  // The second look: whatever was let go of before the sleep was announced. If it finds another
  // consumer to wait for, that consumer would not wake the producer.
  std::uint64_t target = 0;
  refresh_limit();
  const std::uint64_t consumer_id_now = waits_for_ != none ? attached_[waits_for_].consumer_id : 0;
  const bool jumping = jump_is_due(target);
  const bool may_go_on = jumping ? is_clear() : next_ < limit_ && abandoned_.empty();
  if (consumer_id_now != consumer_id || !evictions_.empty() || may_go_on) {
    ordered::producer_wakes(board_.progress());
    return;
  }
  claimer_waits_ = true;
  const auto sleep = [&] {
    lock.unlock();
    const Woken woken = desk ? futex_wait_either(desk->release_sequence, desk_value, private_word_,
                                                 private_value, timeout_ms)
                             : futex_wait(private_word_, private_value, timeout_ms);
    lock.lock();
    return woken;
  };
  const auto in_vain = [&](Woken woken) {
    if (woken != Woken::timed_out || !desk || over()) return false;
    refresh_limit();
    return next_ < limit_ && ordered::load_released(*desk) >= wanted &&
           ordered::load_word(desk->release_sequence) == desk_value &&
           ordered::load_word(private_word_) == private_value;
  };
  // The one who let go may be between its store and its wake-up: give it one more round to come.
  if (in_vain(sleep()) && in_vain(sleep())) ordered::count(board_.progress().late_wakeups);
  claimer_waits_ = false;
  ordered::producer_wakes(board_.progress());
  limit_ = 0;
  look_for_stall();
}

bool RingWriter::space_came_while_looking(Lock& lock) {
  if (waits_for_ == none || waits_for_ >= attached_.size() || next_ < limit_) return false;
  const std::shared_ptr<Desk> desk = attached_[waits_for_].desk;
  // A quarter of the ring is worth more than the first sample: who takes each one as it comes is
  // woken, and wakes others, for each.
  const std::uint64_t some = wakes_at();
  const std::uint64_t many = some + reach_ / 4;
  lock.unlock();
  const bool found = spinner_.look([&] { return ordered::load_released(*desk) >= many; });
  const bool enough = found || ordered::load_released(*desk) >= some;
  lock.lock();
  if (enough) limit_ = 0;
  return enough;
}

void RingWriter::publish(const Ticket& ticket, const Receipt& receipt) {
  PendingWakes wakes;
  {
    Lock lock(mutex_);
    if (take_abandoned(ticket)) return;
    const auto found = std::lower_bound(
        outstanding_.begin(), outstanding_.end(), ticket.position,
        [](const Outstanding& run, std::uint64_t position) { return run.start < position; });
    BATCHCAST_ASSERT(found != outstanding_.end() && found->start == ticket.position &&
                     !found->ready);
    found->ready = true;
    found->receipt = receipt;
    if (!over() && !held_back()) advance(wakes);
  }
  wakes.wake();
}

void RingWriter::advance(PendingWakes& wakes) {
  const std::uint64_t before = published_;
  bool announced = false;
  while (!outstanding_.empty() && outstanding_.front().ready) {
    const Outstanding& run = outstanding_.front();
    announced |= ledger_.published(run.start, run.end, run.receipt);
    published_ = run.end;
    outstanding_.pop_front();
  }
  if (published_ == before) return;
  if (!publishing_) {
    publishing_ = true;
    ordered::store_state(board_.progress(), StreamState::running);
  }
  ordered::publish(board_.progress(), published_);
  if (published_ >= stream_end_) {
    enter_end(StreamState::finished, "", wakes);
  } else {
    // Where ends are not known beforehand, somebody may sleep for nothing else.
    wake_sleepers(wakes, announced && !ledger_.length_known());
  }
  if (claimer_waits_) bump();
}

void RingWriter::wake_sleepers(PendingWakes& wakes, bool all) noexcept {
  for (const Attached& consumer : attached_) {
    const bool rings = all ? ordered::consumer_sleeps(*consumer.desk)
                           : ordered::consumer_waits_for(*consumer.desk, published_);
    if (rings) wakes.add(board_.consumer(consumer.index).wake_word);
  }
}

void RingWriter::give_back(const Ticket& ticket) noexcept {
  std::string hole;
  {
    Lock lock(mutex_);
    if (take_abandoned(ticket)) return;
    if (!outstanding_.empty() && outstanding_.back().start == ticket.position) {
      outstanding_.pop_back();
      next_ = ticket.position;
      if (claimer_waits_) bump();
    } else {
      hole = "a loan of positions " + std::to_string(ticket.position) + " to " +
             std::to_string(ticket.position + ticket.size - 1) +
             " was dropped unpublished while later ones were out: the stream would have a hole. "
             "Publish loans that are not the newest, or end the stream with fail() and the reason";
    }
  }
  if (!hole.empty()) fail(hole);
}

bool RingWriter::take_abandoned(const Ticket& ticket) noexcept {
  const auto found = std::find(abandoned_.begin(), abandoned_.end(), ticket.position);
  if (found == abandoned_.end()) return false;
  abandoned_.erase(found);
  if (claimer_waits_ && abandoned_.empty()) bump();
  return true;
}

bool RingWriter::is_clear() const noexcept { return outstanding_.empty() && abandoned_.empty(); }

bool RingWriter::over() const noexcept { return outcome_ != StreamState::running; }

bool RingWriter::held_back() const noexcept {
  return !publishing_ &&
         std::uint64_t{trainers()} + trainers_elsewhere_ < std::uint64_t{options_.wait_for};
}

std::uint32_t RingWriter::trainers() const noexcept {
  return static_cast<std::uint32_t>(
      std::count_if(attached_.begin(), attached_.end(),
                    [](const Attached& one) { return !one.observes && !one.mirrors; }));
}

void RingWriter::bump() noexcept {
  ordered::bump(private_word_);
  futex_wake(private_word_);
}

void RingWriter::log(LogLevel level, const std::string& text) const {
  if (options_.log) options_.log(level, text);
}

}  // namespace batchcast::inline v0_1
