// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "ring/writer/consumer_admission.hpp"

#include <batchcast/core/assert.hpp>
#include <batchcast/core/text.hpp>

#include <algorithm>
#include <utility>

namespace batchcast::inline v0_1 {
namespace {

constexpr const char* no_epoch_held =
    "the stream's last epoch is no longer in the ring, and none follows";
constexpr const char* no_epoch_follows = "the stream has no further epoch";
constexpr const char* read_to_its_end = "its last epoch is made and was read";

}  // namespace

std::variant<Admitted, NotAdmitted> ConsumerAdmission::admit(const AdmitRequest& request,
                                                             std::shared_ptr<Desk> desk,
                                                             PendingWakes& wakes) {
  const auto entry = free_entry();
  if (const auto* refusal = std::get_if<NotAdmitted>(&entry)) return *refusal;
  const bool begins_paused = request.observes || request.mirrors ||
                             (request.between_epochs == BetweenEpochs::let_go && !request.in_loop);
  StartPoint begins{state_.tickets.published(), 0};
  if (request.place) {
    begins = *request.place;
    if (auto refusal = refusal_of_place(begins)) return *refusal;
  } else if (!begins_paused) {
    if (rules_.goes_back(request.join, request.cursor, 0)) publisher_.go_back(request.cursor);
    const auto found = start(request.join, request.cursor, rules_.bounds_here(0), no_epoch_held);
    if (const auto* refusal = std::get_if<NotAdmitted>(&found)) return *refusal;
    begins = rules_.start_point(std::get<JoinRules::Start>(found));
  }
  const ConsumerRecord& consumer = state_.consumers.add(request, std::get<std::uint32_t>(entry),
                                                        begins_paused, begins, std::move(desk));
  if (consumer.is_trainer()) state_.attendance.trainer_came();
  state_.show_to_come();
  Admitted admitted;
  admitted.index = consumer.index;
  admitted.consumer_id = consumer.consumer_id;
  admitted.position = begins.position;
  admitted.samples_to_come = saturating_sub(begins.position, state_.tickets.published());
  admitted.name = consumer.name;
  admitted.skipping = begins.skipping;
  state_.gate.close();
  publisher_.advance(wakes);  // the stream may have waited for this one
  state_.wake.wake();
  return admitted;
}

std::optional<NotAdmitted> ConsumerAdmission::refusal_of_newcomers() const {
  const auto entry = free_entry();
  const auto* refusal = std::get_if<NotAdmitted>(&entry);
  return refusal != nullptr ? std::optional(*refusal) : std::nullopt;
}

std::variant<std::uint32_t, NotAdmitted> ConsumerAdmission::free_entry() const {
  if (auto refusal = state_.outcome.refusal()) return *refusal;
  if (const auto index = state_.consumers.free_entry()) return *index;
  return NotAdmitted{NotAdmitted::Reason::full,
                     text("all {} places for consumers are taken. Start the producer with a larger "
                          "--max-consumers (up to {})",
                          state_.consumers.entries(), limits::consumers_max)};
}

/// The rank at that place may have left, or its desk may be wrong.
std::optional<NotAdmitted> ConsumerAdmission::refusal_of_place(StartPoint place) const {
  std::uint64_t position = place.position;
  if (place.skipping != 0) {
    const auto end = state_.ledger.end_of(place.skipping - 1);
    position = end.value_or(state_.tickets.oldest_held());
  }
  if (position >= state_.tickets.oldest_held()) return std::nullopt;
  return NotAdmitted{
      NotAdmitted::Reason::cursor_gone,
      text("position {}, where the group's first rank began, is no longer in the ring", position)};
}

std::variant<JoinRules::Start, NotAdmitted> ConsumerAdmission::start(Join join,
                                                                     std::uint64_t cursor,
                                                                     JoinRules::Bounds bounds,
                                                                     const char* ended) {
  if (join == Join::rewind) refresh_gate();  // it depends on the slowest consumer
  return rules_.start(join, cursor, bounds, ended);
}

bool ConsumerAdmission::evict(std::uint32_t index, std::uint64_t consumer_id) noexcept {
  ConsumerRecord* consumer = state_.consumers.find(index, consumer_id);
  if (consumer == nullptr) return false;
  // This is the last look at its desk, for where it stood.
  if (!consumer->paused) static_cast<void>(state_.consumers.validate(*consumer));
  remove_at(static_cast<std::size_t>(consumer - state_.consumers.records().data()));
  return true;
}

void ConsumerAdmission::evict_offenders() {
  std::vector<ConsumerRecord>& records = state_.consumers.records();
  for (std::size_t i = 0; i < records.size();) {
    const std::string offence =
        records[i].paused ? std::string() : state_.consumers.validate(records[i]);
    if (offence.empty()) {
      ++i;
    } else {
      evict_at(i, text("{}: {}", records[i].title(), offence));
    }
  }
}

void ConsumerAdmission::refresh_gate() {
  evict_offenders();
  state_.gate.refresh();
}

void ConsumerAdmission::evict_at(std::size_t at, std::string reason) {
  evictions_.push_back({state_.consumers.records()[at].consumer_id, std::move(reason)});
  remove_at(at);
}

void ConsumerAdmission::remove_at(std::size_t at) noexcept {
  const ConsumerRecord& consumer = state_.consumers.records()[at];
  if (!consumer.paused) state_.gate.raise_demand_base(consumer.released_min);
  if (consumer.is_trainer()) {
    const bool had_batch = ordered::get(consumer.desk->batches) != 0;
    state_.attendance.trainer_left(
        had_batch ? std::optional(std::min(consumer.released_min, state_.tickets.published()))
                  : std::nullopt,
        state_.consumers.read_to(consumer));
  }
  state_.consumers.remove(at);
  state_.show_to_come();
  state_.gate.forget_consumers();
  state_.wake.wake();
}

std::vector<ConsumerAdmission::Eviction> ConsumerAdmission::take_evictions() noexcept {
  return std::exchange(evictions_, {});
}

void ConsumerAdmission::tell(const std::vector<Eviction>& evictions) const {
  if (!state_.options.on_evicted) return;
  for (const Eviction& eviction : evictions) {
    state_.options.on_evicted(eviction.consumer_id, eviction.reason);
  }
}

void ConsumerAdmission::pause(std::uint32_t index, std::uint64_t consumer_id) noexcept {
  ConsumerRecord* consumer = state_.consumers.find(index, consumer_id);
  if (consumer == nullptr || consumer->paused) return;
  evict_offenders();  // one last look at its desk, which may evict it
  consumer = state_.consumers.find(index, consumer_id);
  if (consumer == nullptr) return;
  if (const auto position = state_.consumers.position_of(*consumer)) {
    state_.gate.raise_demand_base(*position);
  }
  state_.consumers.pause(*consumer);
  state_.gate.forget_consumers();
  state_.wake.wake();
}

std::variant<std::uint64_t, NotAdmitted> ConsumerAdmission::resume(std::uint32_t index,
                                                                   std::uint64_t consumer_id,
                                                                   Join join,
                                                                   std::uint64_t cursor) {
  if (auto refusal = state_.outcome.refusal()) return *refusal;
  const ConsumerRecord* consumer = state_.consumers.find(index, consumer_id);
  if (consumer == nullptr) {
    return NotAdmitted{NotAdmitted::Reason::stopped, "the producer evicted this consumer"};
  }
  BATCHCAST_ASSERT(!consumer->mirrors);
  if (consumer->observes) return expect_trainer(join, cursor);
  if (!consumer->paused) {
    // A rank's place is kept until it comes, after an earlier producer's death.
    const bool is_new = consumer->group.world == 0 || ordered::get(consumer->desk->batches) == 0;
    const bool moves = join == Join::at && is_new;
    return moves ? move(index, consumer_id, cursor) : consumer->released_min;
  }
  // A consumer that has had nothing yet may go back as far as the ring reaches.
  const std::uint64_t at_least = consumer->fresh ? 0 : consumer->released_min;
  if (consumer->fresh && rules_.goes_back(join, cursor, consumer_id)) publisher_.go_back(cursor);
  const auto found = start(join, cursor, rules_.bounds_here(at_least), no_epoch_follows);
  if (const auto* refusal = std::get_if<NotAdmitted>(&found)) return *refusal;
  const StartPoint begins = rules_.start_point(std::get<JoinRules::Start>(found));
  let_in(*state_.consumers.find(index, consumer_id), begins);
  return begins.position;
}

RingOutlook ConsumerAdmission::outlook(std::uint64_t cursor) {
  RingOutlook outlook;
  outlook.is_over = state_.outcome.refusal().has_value();
  outlook.goes_back = rules_.goes_back(Join::at, cursor, 0);
  outlook.oldest = state_.tickets.oldest_held();
  outlook.published = state_.tickets.published();
  const auto found = start(Join::rewind, 0, rules_.bounds_here(0), no_epoch_held);
  if (const auto* start = std::get_if<JoinRules::Start>(&found)) outlook.rewind = *start;
  outlook.epoch_start = state_.ledger.start_of(state_.ledger.epoch_of(outlook.published));
  return outlook;
}

bool ConsumerAdmission::go_to(std::uint64_t position) {
  if (!rules_.may_go_to(position)) return false;
  publisher_.go_to(position);
  return true;
}

/// Where the next trainer would begin. An observer asks that for a trainer that follows it.
std::variant<std::uint64_t, NotAdmitted> ConsumerAdmission::expect_trainer(Join join,
                                                                           std::uint64_t cursor) {
  const auto found = start(join, cursor, rules_.bounds_here(0), no_epoch_held);
  if (const auto* refusal = std::get_if<NotAdmitted>(&found)) return *refusal;
  // The consumer would be admitted just before the producer takes the stream down.
  if (all_is_read()) return NotAdmitted{NotAdmitted::Reason::finished, read_to_its_end};
  state_.attendance.expect_trainer();
  return rules_.start_point(std::get<JoinRules::Start>(found)).position;
}

bool ConsumerAdmission::all_is_read() {
  const StreamOutcome& outcome = state_.outcome;
  // All may be made while the first publication still waits for its trainers.
  if (!outcome.is_over()) return false;
  // A stream that came to its end waits for its first trainer, which may be slow to start.
  if (!state_.attendance.ever_had_trainer() && outcome.is_finished()) return false;
  evict_offenders();
  return state_.consumers.all_have_read(outcome.is_finished());
}

/// For a consumer that is not paused: the stream always waits for it, at the old place or the new.
std::variant<std::uint64_t, NotAdmitted> ConsumerAdmission::move(std::uint32_t index,
                                                                 std::uint64_t consumer_id,
                                                                 std::uint64_t cursor) {
  const bool jumps = rules_.goes_back(Join::at, cursor, consumer_id);
  if (jumps) publisher_.go_back(cursor);
  const auto found = start(Join::at, cursor, rules_.bounds_here(0), no_epoch_held);
  if (const auto* refusal = std::get_if<NotAdmitted>(&found)) return *refusal;
  ConsumerRecord& consumer = *state_.consumers.find(index, consumer_id);
  if (!jumps) state_.attendance.add_read_to(state_.consumers.read_to(consumer));
  let_in(consumer, rules_.start_point(std::get<JoinRules::Start>(found)));
  return cursor;
}

std::variant<MirrorStart, NotAdmitted> ConsumerAdmission::resume_mirror(
    std::uint32_t index, std::uint64_t consumer_id, const MirrorRequest& request) {
  if (auto refusal = state_.outcome.refusal()) return *refusal;
  if (rules_.goes_back(request, consumer_id)) publisher_.go_back(request.cursor);
  const auto trainer =
      start(request.join, request.cursor, rules_.bounds_with(request), no_epoch_held);
  ConsumerRecord* mirror = state_.consumers.find(index, consumer_id);
  if (mirror == nullptr) {
    return NotAdmitted{NotAdmitted::Reason::stopped, "its mirror was removed"};
  }
  BATCHCAST_ASSERT(mirror->mirrors && mirror->paused);
  if (const auto* refusal = std::get_if<NotAdmitted>(&trainer)) return *refusal;
  const MirrorStart begins = rules_.mirror_start(std::get<JoinRules::Start>(trainer), request.next);
  let_in(*mirror, {begins.position, 0});
  return begins;
}

void ConsumerAdmission::let_in(ConsumerRecord& consumer, StartPoint start) noexcept {
  state_.consumers.resume(consumer, start);
  state_.gate.close();
  state_.wake.wake();
}

}  // namespace batchcast::inline v0_1
