// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "ring/writer/writer.hpp"

#include <batchcast/core/assert.hpp>
#include <batchcast/core/clock.hpp>
#include <batchcast/ring/futex.hpp>

#include <algorithm>
#include <utility>
#include <vector>

// Each function takes the lock and leaves the work to a part. Where it may wake consumers, `wakes`
// is declared before the lock is taken, so that they wake after it is released.
namespace batchcast::inline v0_1 {

RingWriter::RingWriter(Board board, Options options)
    : state_(board, std::move(options)),
      publisher_(state_),
      admission_(state_, publisher_),
      claimer_(state_, admission_, publisher_),
      row_claimer_(state_, admission_, publisher_, claimer_) {
  state_.show_to_come();
}

Claim RingWriter::claim(std::uint64_t samples_max, int timeout_ms, Ticket& ticket,
                        std::optional<std::uint64_t> interruptions) {
  return claimer_.claim(samples_max, timeout_ms, ticket, interruptions);
}

std::optional<Claim> RingWriter::try_claim(std::uint64_t samples_max, Ticket& ticket) {
  return claimer_.try_claim(samples_max, ticket);
}

std::uint64_t RingWriter::take_rows(Ticket& ticket, std::size_t axis, std::uint64_t index,
                                    std::span<const std::uint64_t> lengths, int timeout_ms,
                                    std::span<const std::uint64_t> first) {
  return row_claimer_.take(ticket, axis, index, lengths, timeout_ms, first);
}

bool RingWriter::has_turn(const Ticket& ticket) { return row_claimer_.has_turn(ticket); }

std::optional<RowRange> RingWriter::left_rows(const Ticket& ticket, std::size_t axis,
                                              std::uint64_t position) {
  return row_claimer_.left_rows(ticket, axis, position);
}

void RingWriter::publish(const Ticket& ticket, const Receipt& receipt) {
  PendingWakes wakes;
  Lock lock(state_.mutex);
  publisher_.publish(ticket, receipt, wakes);
}

void RingWriter::give_back(const Ticket& ticket) noexcept {
  std::string hole;
  {
    Lock lock(state_.mutex);
    hole = publisher_.give_back(ticket);
  }
  if (!hole.empty()) fail(hole);
}

void RingWriter::end_epoch() {
  PendingWakes wakes;
  Lock lock(state_.mutex);
  publisher_.end_epoch(wakes);
}

void RingWriter::finish() {
  PendingWakes wakes;
  Lock lock(state_.mutex);
  publisher_.finish(wakes);
}

void RingWriter::stop(const std::string& text) noexcept {
  std::vector<ConsumerAdmission::Eviction> evictions;
  {
    PendingWakes wakes;
    Lock lock(state_.mutex);
    // It waits only for announced trainers: for those that came it has ended in order.
    if (state_.outcome.is_finished() && admission_.all_is_read()) {
      state_.outcome.close();
      state_.wake.wake();
    } else {
      publisher_.stop(text, wakes);
    }
    evictions = admission_.take_evictions();
  }
  admission_.tell(evictions);
}

void RingWriter::fail(const std::string& text) noexcept {
  PendingWakes wakes;
  Lock lock(state_.mutex);
  if (!state_.outcome.is_over()) publisher_.end_stream(StreamState::failed, text, wakes);
}

bool RingWriter::stop_if_unattended(std::uint64_t for_ns, const std::string& text) noexcept {
  PendingWakes wakes;
  Lock lock(state_.mutex);
  const StreamOutcome& outcome = state_.outcome;
  const bool has_ended =
      outcome.is_drain_cancelled() || (outcome.is_over() && !outcome.is_finished());
  if (has_ended || !state_.attendance.is_deserted_for(for_ns)) return false;
  publisher_.stop(text, wakes);
  return true;
}

bool RingWriter::wait_drained(int timeout_ms) {
  const std::uint64_t started_ns = now_ns();
  constexpr int look_ms = 10;
  for (;;) {
    const Shared32& word = state_.wake.word();
    const std::uint32_t value = ordered::load_word(word);
    bool drained = false;
    bool is_cancelled = false;
    std::vector<ConsumerAdmission::Eviction> evictions;
    {
      Lock lock(state_.mutex);
      drained = is_drained();
      is_cancelled = state_.outcome.is_drain_cancelled();
      evictions = admission_.take_evictions();
    }
    admission_.tell(evictions);
    if (drained) return true;
    if (is_cancelled) return false;
    if (timeout_ms >= 0 &&
        now_ns() - started_ns >= static_cast<std::uint64_t>(timeout_ms) * 1'000'000) {
      return false;
    }
    futex_wait(word, value, look_ms);
  }
}

bool RingWriter::is_drained() {
  if (state_.outcome.is_closed()) return true;
  if (!admission_.all_is_read()) return false;
  return !state_.outcome.is_finished() || !state_.attendance.expects_trainer();
}

bool RingWriter::close() {
  std::vector<ConsumerAdmission::Eviction> evictions;
  bool drained = false;
  {
    Lock lock(state_.mutex);
    drained = is_drained();
    if (drained) state_.outcome.close();
    evictions = admission_.take_evictions();
  }
  admission_.tell(evictions);
  return drained;
}

bool RingWriter::all_made() const {
  Lock lock(state_.mutex);
  return state_.tickets.next() >= state_.ledger.stream_end() && state_.tickets.all_filled();
}

std::variant<Admitted, NotAdmitted> RingWriter::admit(const AdmitRequest& request,
                                                      std::shared_ptr<Desk> desk) {
  auto reply = [&] {
    PendingWakes wakes;
    Lock lock(state_.mutex);
    return admission_.admit(request, std::move(desk), wakes);
  }();
  tell();
  return reply;
}

void RingWriter::tell() {
  std::vector<std::string> untold;
  {
    Lock lock(state_.mutex);
    untold.swap(state_.untold);
  }
  for (const std::string& text : untold) state_.log(LogLevel::info, text);
}

void RingWriter::remove(std::uint32_t index, std::uint64_t consumer_id) noexcept {
  static_cast<void>(evict(index, consumer_id));  // only the caller treats the two differently
}

bool RingWriter::evict(std::uint32_t index, std::uint64_t consumer_id) noexcept {
  Lock lock(state_.mutex);
  return admission_.evict(index, consumer_id);
}

bool RingWriter::has(std::uint32_t index, std::uint64_t consumer_id) const noexcept {
  Lock lock(state_.mutex);
  const auto& records = state_.consumers.records();
  return std::any_of(records.begin(), records.end(), [&](const ConsumerRecord& one) {
    return one.index == index && one.consumer_id == consumer_id;
  });
}

void RingWriter::await_members() {
  Lock lock(state_.mutex);
  state_.awaits_members = true;
}

void RingWriter::go_on_at(std::optional<std::uint64_t> position,
                          const std::optional<Receipt>& before) {
  if (!position) return members_are_seated();
  PendingWakes wakes;
  Lock lock(state_.mutex);
  BATCHCAST_ASSERT(state_.awaits_members && state_.tickets.is_empty());
  const auto& records = state_.consumers.records();
  BATCHCAST_ASSERT(std::all_of(records.begin(), records.end(),
                               [](const ConsumerRecord& one) { return one.paused; }));
  state_.attendance.forgo_wait();
  state_.show_to_come();
  const std::uint64_t to = std::min(*position, state_.ledger.stream_end());
  if (to != state_.tickets.next()) publisher_.jump(to);
  if (before) state_.ledger.jumped(to, *before);
  state_.attendance.set_left_at(to);  // newcomers begin in that epoch, or after it
  // Where all samples of this ring were read, none will be published.
  if (to >= state_.ledger.stream_end()) publisher_.end_stream(StreamState::finished, "", wakes);
}

void RingWriter::members_are_seated() noexcept {
  Lock lock(state_.mutex);
  state_.awaits_members = false;
  state_.gate.close();
  state_.wake.wake();
}

void RingWriter::forgo_wait() {
  PendingWakes wakes;
  Lock lock(state_.mutex);
  state_.attendance.forgo_wait();
  state_.show_to_come();
  publisher_.advance(wakes);
  state_.wake.wake();
}

void RingWriter::pause(std::uint32_t index, std::uint64_t consumer_id) noexcept {
  Lock lock(state_.mutex);
  admission_.pause(index, consumer_id);
}

std::variant<std::uint64_t, NotAdmitted> RingWriter::resume(std::uint32_t index,
                                                            std::uint64_t consumer_id, Join join,
                                                            std::uint64_t cursor) {
  auto reply = [&] {
    Lock lock(state_.mutex);
    return admission_.resume(index, consumer_id, join, cursor);
  }();
  tell();
  return reply;
}

std::optional<NotAdmitted> RingWriter::refusal_of_newcomers() const {
  Lock lock(state_.mutex);
  return admission_.refusal_of_newcomers();
}

bool RingWriter::set_trainers_elsewhere(std::uint32_t trainers, std::uint32_t jobs) {
  PendingWakes wakes;
  Lock lock(state_.mutex);
  state_.attendance.set_trainers_elsewhere(trainers, jobs);
  state_.show_to_come();
  const auto refusal = state_.outcome.refusal();
  publisher_.advance(wakes);  // the stream may have waited for these
  state_.wake.wake();
  return !refusal || refusal->reason == NotAdmitted::Reason::finished;
}

std::uint32_t RingWriter::trainers_here() const {
  Lock lock(state_.mutex);
  return state_.consumers.trainers();
}

std::uint32_t RingWriter::jobs_here() const {
  Lock lock(state_.mutex);
  return state_.consumers.jobs();
}

std::optional<std::uint64_t> RingWriter::tell_rank(std::uint32_t index, std::uint64_t consumer_id,
                                                   const GroupNews& news) noexcept {
  Lock lock(state_.mutex);
  const ConsumerRecord* const rank = state_.consumers.find(index, consumer_id);
  if (rank == nullptr) return std::nullopt;
  state_.consumers.tell(*rank, news);
  const std::uint64_t reading = ordered::load_reading(*rank->desk);
  if (reading == 0) return std::nullopt;
  // A rank that waits for an epoch's first sample holds none. It begins at the last epoch's end.
  const std::uint64_t epoch = reading - 1;
  if (epoch == 0) return epoch;
  const EpochEntry& before = state_.board.epoch(epoch - 1);
  const bool waits = ordered::get(before.epoch_plus_one) == epoch &&
                     state_.tickets.published() <= ordered::get(before.end);
  return waits ? std::nullopt : std::optional(epoch);
}

void RingWriter::rank_ended(std::uint32_t index, std::uint64_t consumer_id,
                            std::uint64_t epochs) noexcept {
  Lock lock(state_.mutex);
  ConsumerRecord* const rank = state_.consumers.find(index, consumer_id);
  if (rank == nullptr) return;
  rank->epochs_ended = std::max(rank->epochs_ended, epochs);
  state_.wake.wake();  // the stream may have drained
}

std::uint64_t RingWriter::epoch() const {
  Lock lock(state_.mutex);
  return state_.ledger.epoch_of(state_.tickets.published());
}

std::optional<Receipt> RingWriter::receipt_of(std::uint64_t epoch) const {
  Lock lock(state_.mutex);
  const BoardView& board = state_.board;
  const EpochEntry& entry = board.epoch(epoch);
  const bool known =
      ordered::get(entry.epoch_plus_one) == epoch + 1 && ordered::get(entry.receipt_known) != 0;
  if (!known) return std::nullopt;
  return Receipt{ordered::get(entry.receipt_count), ordered::get(entry.receipt_hash)};
}

std::optional<std::uint64_t> RingWriter::take_left_at() {
  Lock lock(state_.mutex);
  return state_.attendance.take_left_at();
}

void RingWriter::set_left_at(std::optional<std::uint64_t> position) {
  Lock lock(state_.mutex);
  if (!position) return;
  state_.attendance.set_left_at(std::min(*position, state_.tickets.published()));
  state_.gate.close();
  state_.wake.wake();
}

std::uint64_t RingWriter::take_read_to() {
  Lock lock(state_.mutex);
  return state_.attendance.take_read_to();
}

void RingWriter::add_read_to(std::uint64_t position) {
  Lock lock(state_.mutex);
  state_.attendance.add_read_to(std::min(position, state_.tickets.published()));
}

bool RingWriter::has_demand() const {
  Lock lock(state_.mutex);
  return state_.consumers.has_demand();
}

std::variant<MirrorStart, NotAdmitted> RingWriter::resume_mirror(std::uint32_t index,
                                                                 std::uint64_t consumer_id,
                                                                 const MirrorRequest& request) {
  auto reply = [&] {
    Lock lock(state_.mutex);
    return admission_.resume_mirror(index, consumer_id, request);
  }();
  tell();
  return reply;
}

void RingWriter::restart_at(std::uint64_t position, std::uint64_t epoch,
                            std::uint64_t epoch_start) {
  PendingWakes wakes;
  Lock lock(state_.mutex);
  publisher_.restart_at(position, epoch, epoch_start, wakes);
}

RingOutlook RingWriter::outlook(std::uint64_t cursor) {
  Lock lock(state_.mutex);
  return admission_.outlook(cursor);
}

bool RingWriter::go_to(std::uint64_t position) {
  const bool goes = [&] {
    Lock lock(state_.mutex);
    return admission_.go_to(position);
  }();
  tell();
  return goes;
}

void RingWriter::ask_to_move(std::uint32_t index, std::uint64_t consumer_id) noexcept {
  Lock lock(state_.mutex);
  if (state_.consumers.find(index, consumer_id) == nullptr) return;
  ordered::bump(state_.board.consumer(index).moves);
}

void RingWriter::look_for_stall() {
  std::unique_lock lock(state_.mutex);
  claimer_.report_stall(lock);
}

StreamState RingWriter::state() const {
  Lock lock(state_.mutex);
  return state_.outcome.state();
}

WriterStatus RingWriter::status() const {
  Lock lock(state_.mutex);
  return status_of(state_, claimer_.stalls());
}

std::uint64_t RingWriter::samples_published() const {
  Lock lock(state_.mutex);
  return state_.tickets.samples_published();
}

void RingWriter::set_stall_policy(std::uint64_t timeout_ms, OnStall on_stall) noexcept {
  Lock lock(state_.mutex);
  state_.options.stall_timeout_ms = timeout_ms;
  state_.options.on_stall = on_stall;
}

void RingWriter::set_demand(std::uint64_t ahead, bool free_running) noexcept {
  Lock lock(state_.mutex);
  state_.options.ahead = ahead;
  state_.options.free_running = free_running;
  state_.gate.close();
  state_.wake.wake();
}

}  // namespace batchcast::inline v0_1
