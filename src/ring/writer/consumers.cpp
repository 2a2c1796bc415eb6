// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "ring/writer/writer.hpp"

#include <batchcast/core/assert.hpp>
#include <batchcast/core/clock.hpp>

#include "core/numbered_name.hpp"
#include "ring/writer/pending_wakes.hpp"

#include <algorithm>
#include <cstring>

// Who is attached, where each stands, and who goes.
namespace batchcast::inline v0_1 {
namespace {

void format_desk(Desk& desk, std::uint32_t index, std::uint64_t consumer_id, std::uint64_t position,
                 std::uint32_t batch_size) noexcept {
  desk.magic = desk_magic;
  desk.layout_version = layout_version;
  desk.index = index;
  desk.consumer_id = consumer_id;
  ordered::set(desk.batch_size, batch_size);
  ordered::set(desk.cursor, position);
  ordered::set_release(desk.released, position);
}

}  // namespace

std::variant<Admitted, NotAdmitted> RingWriter::admit(const AdmitRequest& request,
                                                      std::shared_ptr<Desk> desk) {
  PendingWakes wakes;
  Admitted admitted;
  {
    Lock lock(mutex_);
    const auto entry_found = free_entry();
    if (const auto* refusal = std::get_if<NotAdmitted>(&entry_found)) return *refusal;
    const std::uint32_t index = std::get<std::uint32_t>(entry_found);
    const bool begins_paused =
        request.observes || request.mirrors || request.between_epochs == BetweenEpochs::let_go;
    std::uint64_t position = published_;
    if (!begins_paused) {
      std::string why_not;
      go_back_if_asked(request.join, request.cursor, 0);
      const auto start = place(request.join, request.cursor, reach_from(0), why_not);
      if (!start && !why_not.empty()) {
        return NotAdmitted{NotAdmitted::Reason::cursor_gone, why_not};
      }
      if (start && *start >= stream_end_) {
        return NotAdmitted{NotAdmitted::Reason::finished,
                           "the stream's last epoch is no longer in the ring, and none follows"};
      }
      if (start) {
        position = *start;
      } else {  // the next epoch begins where the current one ends, and nobody knows where that is
        const std::uint64_t epoch = ledger_.epoch_of(next_);
        position = std::max(published_, ledger_.start_of(epoch));
        ordered::set_release(desk->skipping, epoch + 1);
      }
    }
    admitted.index = index;
    admitted.consumer_id = next_consumer_id_++;
    admitted.position = position;
    admitted.samples_to_come = saturating_sub(position, published_);
    admitted.name = unique_name(request.name);
    format_desk(*desk, index, admitted.consumer_id, position, request.batch_size);

    ConsumerEntry& entry = board_.consumer(index);
    ordered::set(entry.admitted_at, position);
    ordered::set(entry.pid, request.pid);
    ordered::set(entry.pace, static_cast<std::uint32_t>(request.pace));
    ordered::set(entry.paused, begins_paused ? 1 : 0);
    entry.name.fill('\0');
    std::memcpy(entry.name.data(), admitted.name.data(),
                std::min(admitted.name.size(), entry.name.size() - 1));
    ordered::set_release(entry.consumer_id, admitted.consumer_id);

    Attached consumer;
    consumer.index = index;
    consumer.consumer_id = admitted.consumer_id;
    consumer.desk = std::move(desk);
    consumer.pace = request.pace;
    consumer.paused = begins_paused;
    consumer.observes = request.observes;
    consumer.mirrors = request.mirrors;
    consumer.floor = consumer.bound = position;
    consumer.skipping = ordered::load_skipping(*consumer.desk);
    consumer.pid = request.pid;
    consumer.name = admitted.name;
    attached_.push_back(std::move(consumer));
    had_consumer_ = had_consumer_ || !(request.observes || request.mirrors);
    limit_ = 0;
    if (!over() && !held_back()) advance(wakes);
    bump();
  }
  wakes.wake();
  return admitted;
}

std::optional<NotAdmitted> RingWriter::refusal_of_newcomers() const {
  Lock lock(mutex_);
  const auto entry = free_entry();
  const auto* refusal = std::get_if<NotAdmitted>(&entry);
  return refusal != nullptr ? std::optional(*refusal) : std::nullopt;
}

std::variant<std::uint32_t, NotAdmitted> RingWriter::free_entry() const {
  if (auto refusal = refusal_if_over()) return *refusal;
  const BoardView& board = board_;
  const std::uint32_t entries = board.head().consumers_max;
  for (std::uint32_t index = 0; index < entries; ++index) {
    if (ordered::get(board.consumer(index).consumer_id) == 0) return index;
  }
  return NotAdmitted{NotAdmitted::Reason::full,
                     "all " + std::to_string(entries) +
                         " places for consumers are taken. Start the producer with a larger "
                         "--max-consumers (up to " +
                         std::to_string(limits::consumers_max) + ")"};
}

std::optional<NotAdmitted> RingWriter::refusal_if_over() const {
  if (outcome_ == StreamState::stopped) {
    return NotAdmitted{NotAdmitted::Reason::stopped, outcome_text_};
  }
  if (outcome_ == StreamState::failed) {
    return NotAdmitted{NotAdmitted::Reason::failed, outcome_text_};
  }
  if (closed_) {
    return NotAdmitted{NotAdmitted::Reason::finished, "its last epoch is made and was read"};
  }
  if (drain_cancelled_) return NotAdmitted{NotAdmitted::Reason::stopped, "its producer is ending"};
  return std::nullopt;
}

RingWriter::Reach RingWriter::reach_from(std::uint64_t at_least) const noexcept {
  return {std::max(oldest_held(claimed_, capacity_, valid_from_), at_least), at_least};
}

std::optional<std::uint64_t> RingWriter::place(Join join, std::uint64_t cursor, Reach reach,
                                               std::string& why_not) {
  switch (join) {
    case Join::now:
      return std::max(published_, reach.at_least);
    case Join::at:
      why_not = why_not_at(cursor, reach.oldest);
      return why_not.empty() ? std::optional(cursor) : std::nullopt;
    case Join::next_epoch:
      return ledger_.first_start_from(std::max(claimed_, reach.at_least));
    case Join::rewind:
      break;
  }
  refresh_limit();
  if (deserted()) return rewind_start(reach.oldest);
  std::uint64_t from = reach.oldest;
  if (slowest_ != none) {
    const auto slowest = position_of(attached_[slowest_]);
    // Who stands at the very end asks for nothing more, and may be just leaving.
    if (slowest && *slowest < stream_end_) {
      from = std::max(from, ledger_.start_of(ledger_.epoch_of(*slowest)));
    }
  }
  return ledger_.first_start_from(from);
}

bool RingWriter::deserted() const noexcept { return trainers() == 0 && trainers_elsewhere_ == 0; }

std::optional<std::uint64_t> RingWriter::rewind_start(std::uint64_t oldest) const {
  std::uint64_t from = oldest;
  // Behind the stream's end no epoch begins: what is held is there to be read once more.
  if (deserted() && left_at_ && *left_at_ < stream_end_) {
    from = std::max(from, ledger_.start_of(ledger_.epoch_of(*left_at_)));
  }
  return ledger_.first_start_from(from);
}

bool RingWriter::may_go_back(std::uint64_t consumer_id) const noexcept {
  if (!options_.goes_back || !options_.jumps || !ledger_.length_known() || over() ||
      next_ >= stream_end_) {
    return false;
  }
  const bool alone = std::all_of(attached_.begin(), attached_.end(), [&](const Attached& one) {
    return one.consumer_id == consumer_id || (one.mirrors && one.paused);
  });
  return alone && trainers_elsewhere_ == 0;
}

void RingWriter::go_back_if_asked(Join join, std::uint64_t cursor, std::uint64_t consumer_id) {
  const bool is_behind = cursor < oldest_held(claimed_, capacity_, valid_from_);
  if (join != Join::at || !is_behind || cursor < options_.start || !may_go_back(consumer_id))
    return;
  for (const Outstanding& run : outstanding_) {
    if (!run.ready) abandoned_.push_back(run.start);
  }
  outstanding_.clear();
  log(LogLevel::info, "the stream goes back from position " + std::to_string(published_) + " to " +
                          std::to_string(cursor) + ", where its only consumer begins");
  jump(cursor);
  left_at_.reset();  // the next one begins where the stream is now
  bump();
}

std::string RingWriter::why_not_at(std::uint64_t cursor, std::uint64_t oldest) const {
  const std::string position = "position " + std::to_string(cursor);
  if (cursor < oldest) {
    const std::string gone =
        position + " is no longer in the ring, whose oldest is " + std::to_string(oldest) + ". ";
    if (options_.goes_back && ledger_.length_known()) {
      if (next_ >= stream_end_) {
        return gone +
               "All of the stream is made, so it goes back no more: join with `rewind`, or serve "
               "it again";
      }
      return gone +
             "The stream goes back there once no other consumer is attached to it. Until then join "
             "with "
             "`rewind`, or serve what you resume as a stream of its own";
    }
    return gone +
           "Its samples cannot be made again: join with `rewind`, and next time serve the stream "
           "with more memory, which holds them longer";
  }
  const bool beyond = cursor > stream_end_;  // at the end itself, the stream is finished
  const bool too_far = cursor >= limits::cursor_limit && cursor > claimed_;
  if (!beyond && !too_far) return {};
  const std::uint64_t end = std::min(std::max(limits::cursor_limit, claimed_ + 1), stream_end_);
  std::string possible = ". There is no position left to ask for";
  if (oldest < end) {
    possible = ". Ask for one from " + std::to_string(oldest) + " to " + std::to_string(end - 1) +
               ", or join with `rewind`";
  }
  if (beyond) {
    return position + " lies beyond the stream's end, which is " + std::to_string(stream_end_) +
           possible;
  }
  return position + " is too far away: a stream takes nobody to positions from " +
         std::to_string(limits::cursor_limit) + " (2^62) on" + possible;
}

std::string RingWriter::unique_name(const std::string& wanted) const {
  return numbered_name(wanted, [this](const std::string& name) {
    return std::any_of(attached_.begin(), attached_.end(),
                       [&](const Attached& consumer) { return consumer.name == name; });
  });
}

std::string RingWriter::validate(Attached& consumer) const {
  const std::uint64_t skipping = ordered::load_skipping(*consumer.desk);  // its end is stored after
  const std::uint64_t released = ordered::load_released(*consumer.desk);
  std::uint64_t bound = std::max(consumer.bound, published_);
  if (published_ > 0) {
    if (const auto end = ledger_.end_of(ledger_.epoch_of(published_ - 1))) {
      bound = std::max(bound, *end);
    }
  }
  if (released < consumer.floor || released > bound) {
    return "its desk said it had let go of everything below position " + std::to_string(released) +
           ", which must lie between " + std::to_string(consumer.floor) + " and " +
           std::to_string(bound);
  }
  const std::uint64_t stands_in = ledger_.epoch_of(released);
  if (skipping != 0 &&
      (ledger_.length_known() || (skipping - 1 != stands_in && skipping != stands_in))) {
    return "its desk said it skips epoch " + std::to_string(skipping - 1) +
           ", in which it does not stand";
  }
  consumer.floor = released;
  consumer.skipping = skipping;
  return {};
}

void RingWriter::evict_offenders() {
  for (std::size_t i = 0; i < attached_.size();) {
    std::string offence = attached_[i].paused ? std::string() : validate(attached_[i]);
    if (offence.empty()) {
      ++i;
    } else {
      evict_at(i, "consumer `" + attached_[i].name + "` (pid " + std::to_string(attached_[i].pid) +
                      "): " + offence);
    }
  }
}

std::optional<std::uint64_t> RingWriter::position_of(const Attached& consumer) const {
  if (consumer.skipping == 0) return consumer.floor;
  const auto end = ledger_.end_of(consumer.skipping - 1);
  if (!end) return std::nullopt;
  return std::max(consumer.floor, *end);
}

void RingWriter::remove(std::uint32_t index, std::uint64_t consumer_id) noexcept {
  static_cast<void>(evict(index, consumer_id));  // to the ring, all that differs is who is told
}

bool RingWriter::evict(std::uint32_t index, std::uint64_t consumer_id) noexcept {
  Lock lock(mutex_);
  Attached* consumer = find(index, consumer_id);
  if (consumer == nullptr) return false;
  if (!consumer->paused) static_cast<void>(validate(*consumer));  // one last look
  drop(static_cast<std::size_t>(consumer - attached_.data()));
  return true;
}

void RingWriter::drop(std::size_t at) noexcept {
  Attached& consumer = attached_[at];
  if (!consumer.paused) {
    demand_base_ = std::max(demand_base_, std::min(consumer.floor, published_));
  }
  if (!consumer.observes && !consumer.mirrors) {
    last_leave_ns_ = now_ns();
    if (ordered::get(consumer.desk->batches) != 0) {
      left_at_ = std::min(consumer.floor, published_);
      left_anew_ = true;
    }
  }
  ConsumerEntry& entry = board_.consumer(consumer.index);
  ordered::revoke(entry);
  ordered::bump(entry.wake_word);
  futex_wake(entry.wake_word);
  attached_.erase(attached_.begin() + static_cast<std::ptrdiff_t>(at));
  slowest_ = waits_for_ = none;
  limit_ = 0;
  bump();
}

void RingWriter::evict_at(std::size_t at, std::string reason) {
  evictions_.push_back({attached_[at].consumer_id, std::move(reason)});
  drop(at);
}

void RingWriter::tell_evicted(std::vector<Eviction> evictions) {
  for (const Eviction& eviction : evictions) {
    if (options_.on_evicted) options_.on_evicted(eviction.consumer_id, eviction.reason);
  }
}

void RingWriter::pause(std::uint32_t index, std::uint64_t consumer_id) noexcept {
  Lock lock(mutex_);
  Attached* consumer = find(index, consumer_id);
  if (consumer == nullptr || consumer->paused) return;
  evict_offenders();  // and one last look at where it stands: it cannot be placed before that
  consumer = find(index, consumer_id);
  if (consumer == nullptr) return;
  const auto position = position_of(*consumer);
  if (position) {
    consumer->floor = std::max(consumer->floor, *position);
    demand_base_ = std::max(demand_base_, std::min(*position, published_));
  }
  consumer->fresh = ordered::get(consumer->desk->batches) == 0;
  consumer->paused = true;
  ordered::set(board_.consumer(index).paused, 1);
  limit_ = 0;
  slowest_ = waits_for_ = none;
  bump();
}

std::variant<std::uint64_t, NotAdmitted> RingWriter::resume(std::uint32_t index,
                                                            std::uint64_t consumer_id, Join join,
                                                            std::uint64_t cursor) {
  Lock lock(mutex_);
  if (auto refusal = refusal_if_over()) return *refusal;
  Attached* consumer = find(index, consumer_id);
  if (consumer == nullptr) {
    return NotAdmitted{NotAdmitted::Reason::stopped, "the producer evicted this consumer"};
  }
  BATCHCAST_ASSERT(!consumer->mirrors);
  if (consumer->observes) {
    return NotAdmitted{NotAdmitted::Reason::cursor_gone, "who observes has no place in the stream"};
  }
  if (!consumer->paused) return consumer->floor;
  std::string why_not;
  // A consumer that has had nothing yet may go back as far as the ring reaches.
  const std::uint64_t at_least = consumer->fresh ? 0 : consumer->floor;
  if (consumer->fresh) go_back_if_asked(join, cursor, consumer_id);
  const auto start = place(join, cursor, reach_from(at_least), why_not);
  consumer = find(index, consumer_id);
  if (consumer == nullptr) {
    return NotAdmitted{NotAdmitted::Reason::stopped, "the producer evicted this consumer"};
  }
  if (!start && !why_not.empty()) return NotAdmitted{NotAdmitted::Reason::cursor_gone, why_not};
  if (start && *start >= stream_end_) {
    return NotAdmitted{NotAdmitted::Reason::finished, "the stream has no further epoch"};
  }
  std::uint64_t position = 0;
  if (start) {
    position = *start;
    consumer->skipping = 0;  // of a loop that it left before
  } else {
    const std::uint64_t epoch = ledger_.epoch_of(next_);
    position = std::max(published_, ledger_.start_of(epoch));
    consumer->skipping = epoch + 1;
  }
  // What stands on the desk may be anything: it is written, and not read back.
  ordered::set_release(consumer->desk->skipping, consumer->skipping);
  consumer->floor = consumer->bound = position;
  consumer->paused = false;
  ordered::set_release(consumer->desk->released, position);
  ordered::set(board_.consumer(index).paused, 0);
  limit_ = 0;
  bump();
  return position;
}

RingWriter::Attached* RingWriter::find(std::uint32_t index, std::uint64_t consumer_id) noexcept {
  for (Attached& consumer : attached_) {
    if (consumer.index == index && consumer.consumer_id == consumer_id) return &consumer;
  }
  return nullptr;
}

}  // namespace batchcast::inline v0_1
