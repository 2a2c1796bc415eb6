// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "ring/writer/consumer_table.hpp"

#include "core/numbered_name.hpp"

#include <batchcast/core/text.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace batchcast::inline v0_1 {
namespace {

void format_desk(Desk& desk, std::uint32_t index, std::uint64_t consumer_id, StartPoint start,
                 std::uint32_t batch_size) noexcept {
  ordered::set_release(desk.skipping, start.skipping);
  desk.magic = desk_magic;
  desk.layout_version = layout_version;
  desk.index = index;
  desk.consumer_id = consumer_id;
  ordered::set(desk.batch_size, batch_size);
  ordered::set(desk.cursor, start.position);
  ordered::set_release(desk.released, start.position);
}

template <std::size_t n>
void put_name(std::array<char, n>& to, const std::string& name) noexcept {
  to.fill('\0');
  std::memcpy(to.data(), name.data(), std::min(name.size(), n - 1));
}

/// Clears the news of an earlier consumer: the group has none yet.
void put_group(ConsumerEntry& entry, const AdmitRequest& request) noexcept {
  put_name(entry.group, request.group.name);
  entry.rank = request.group.rank;
  entry.world = request.group.world;
  entry.tail = static_cast<std::uint32_t>(request.tail);
  ordered::set(entry.group_sequence, 0);
  for (Shared64* word :
       {&entry.group_lost, &entry.lost_from, &entry.epochs_met, &entry.group_receipt,
        &entry.ends_epoch, &entry.ends_at, &entry.ends_at_row}) {
    ordered::set(*word, 0);
  }
}

}  // namespace

ConsumerTable::ConsumerTable(Board board, const EpochLedger& ledger, const TicketQueue& tickets,
                             std::uint64_t first_consumer_id) noexcept
    : board_(board), ledger_(ledger), tickets_(tickets), next_consumer_id_(first_consumer_id) {}

ConsumerRecord* ConsumerTable::find(std::uint32_t index, std::uint64_t consumer_id) noexcept {
  for (ConsumerRecord& consumer : records_) {
    if (consumer.index == index && consumer.consumer_id == consumer_id) return &consumer;
  }
  return nullptr;
}

std::uint32_t ConsumerTable::trainers() const noexcept {
  return static_cast<std::uint32_t>(
      std::count_if(records_.begin(), records_.end(),
                    [](const ConsumerRecord& one) { return one.is_trainer(); }));
}

std::uint32_t ConsumerTable::jobs() const noexcept {
  return static_cast<std::uint32_t>(std::count_if(
      records_.begin(), records_.end(), [](const ConsumerRecord& one) { return one.is_job(); }));
}

std::uint32_t ConsumerTable::entries() const noexcept {
  const BoardView& board = board_;
  return board.head().consumers_max;
}

std::optional<std::uint32_t> ConsumerTable::free_entry() const noexcept {
  const BoardView& board = board_;
  for (std::uint32_t index = 0; index < entries(); ++index) {
    if (ordered::get(board.consumer(index).consumer_id) == 0) return index;
  }
  return std::nullopt;
}

const ConsumerRecord& ConsumerTable::add(const AdmitRequest& request, std::uint32_t index,
                                         bool paused, StartPoint start,
                                         std::shared_ptr<Desk> desk) {
  ConsumerRecord consumer;
  consumer.index = index;
  consumer.consumer_id = next_consumer_id_++;
  consumer.pace = request.pace;
  consumer.paused = paused;
  consumer.observes = request.observes;
  consumer.mirrors = request.mirrors;
  consumer.released_min = start.position;
  consumer.released_max = released_from(start);
  // At an epoch's beginning too: it may leave that one while it drains an earlier producer's ring.
  if (const auto end = ledger_.end_of(ledger_.epoch_of(start.position)); end && request.in_loop) {
    consumer.released_max = *end;
  }
  consumer.skipping = start.skipping;
  consumer.pid = request.pid;
  consumer.name = unique_name(request.name);
  consumer.group = request.group;
  consumer.admitted_at = start.position;
  format_desk(*desk, index, consumer.consumer_id, start, request.batch_size);
  consumer.desk = std::move(desk);

  ConsumerEntry& entry = board_.consumer(index);
  ordered::set(entry.admitted_at, start.position);
  ordered::set(entry.pid, request.pid);
  ordered::set(entry.pace, static_cast<std::uint32_t>(request.pace));
  ordered::set(entry.paused, paused ? 1 : 0);
  ordered::set(entry.moves, 0);
  put_name(entry.name, consumer.name);
  put_group(entry, request);
  ordered::set_release(entry.consumer_id, consumer.consumer_id);
  return records_.emplace_back(std::move(consumer));
}

void ConsumerTable::remove(std::size_t at) noexcept {
  ConsumerEntry& entry = board_.consumer(records_[at].index);
  ordered::revoke(entry);
  ordered::bump(entry.wake_word);
  futex_wake(entry.wake_word);
  had_by_those_gone_ = saturating_add(had_by_those_gone_, had_by(records_[at]));
  records_.erase(records_.begin() + static_cast<std::ptrdiff_t>(at));
}

void ConsumerTable::pause(ConsumerRecord& consumer) noexcept {
  // Those who join next are placed by this position, which its desk no longer changes.
  if (const auto position = position_of(consumer)) consumer.released_min = *position;
  consumer.fresh = ordered::get(consumer.desk->batches) == 0;
  consumer.paused = true;
  ordered::set(board_.consumer(consumer.index).paused, 1);
}

void ConsumerTable::resume(ConsumerRecord& consumer, StartPoint start) noexcept {
  // The desk may hold anything by now: it is written, and not read back.
  ordered::set_release(consumer.desk->skipping, start.skipping);
  consumer.released_min = start.position;
  consumer.released_max = released_from(start);
  consumer.skipping = start.skipping;
  consumer.paused = false;
  ordered::set_release(consumer.desk->released, start.position);
  ordered::set(board_.consumer(consumer.index).paused, 0);
}

/// One that goes on in the middle of an epoch may leave that one before the stream is there.
std::uint64_t ConsumerTable::released_from(StartPoint start) const noexcept {
  if (start.position == 0) return 0;
  const auto end = ledger_.end_of(ledger_.epoch_of(start.position - 1));
  return std::max(start.position, end.value_or(0));
}

std::string ConsumerTable::validate(ConsumerRecord& consumer) const {
  // The consumer stores the end of an epoch that it skipped before it stores that it skips no more.
  const std::uint64_t skipping = ordered::load_skipping(*consumer.desk);
  const std::uint64_t released = ordered::load_released(*consumer.desk);
  const std::uint64_t published = tickets_.published();
  std::uint64_t most = std::max(consumer.released_max, published);
  if (published > 0) {
    if (const auto end = ledger_.end_of(ledger_.epoch_of(published - 1))) {
      most = std::max(most, *end);
    }
  }
  if (released < consumer.released_min || released > most) {
    return text(
        "its desk said it had released everything below position {}, which must lie between {} "
        "and {}",
        released, consumer.released_min, most);
  }
  const std::uint64_t epoch = ledger_.epoch_of(released);
  if (skipping != 0 && (ledger_.length_known() || (skipping - 1 != epoch && skipping != epoch))) {
    // Between the two loads it may have come to that epoch's end, and further: the next look tells.
    if (ordered::load_skipping(*consumer.desk) != skipping) return {};
    return text("its desk said it skips epoch {}, in which it does not stand", skipping - 1);
  }
  consumer.released_min = released;
  consumer.skipping = skipping;
  return {};
}

std::optional<std::uint64_t> ConsumerTable::position_of(
    const ConsumerRecord& consumer) const noexcept {
  if (consumer.skipping == 0) return consumer.released_min;
  const auto end = ledger_.end_of(consumer.skipping - 1);
  if (!end) return std::nullopt;
  return std::max(consumer.released_min, *end);
}

std::uint64_t ConsumerTable::read_to(const ConsumerRecord& consumer) const noexcept {
  const Desk& desk = *consumer.desk;
  if (ordered::get(desk.batches) == 0) return 0;
  const std::uint64_t given = std::max(ordered::get(desk.cursor), consumer.released_min);
  return std::min(given, tickets_.published());
}

void ConsumerTable::note_wait_for(std::uint64_t consumer_id, std::uint64_t ns) noexcept {
  for (ConsumerRecord& consumer : records_) {
    if (consumer.consumer_id == consumer_id) consumer.waited_for_ns += ns;
  }
}

std::uint64_t ConsumerTable::had_by(const ConsumerRecord& consumer) const noexcept {
  if (!consumer.is_trainer()) return 0;
  return std::min(ordered::get(consumer.desk->samples), tickets_.samples_published());
}

std::uint64_t ConsumerTable::delivered() const noexcept {
  std::uint64_t samples = had_by_those_gone_;
  for (const ConsumerRecord& consumer : records_) {
    samples = saturating_add(samples, had_by(consumer));
  }
  return samples;
}

void ConsumerTable::tell(const ConsumerRecord& consumer, const GroupNews& news) noexcept {
  ConsumerEntry& entry = board_.consumer(consumer.index);
  if (news.ends) {
    ordered::set(entry.ends_at, news.ends->place.position);
    ordered::set(entry.ends_at_row, news.ends->place.row);
    ordered::set_release(entry.ends_epoch, news.ends->epoch + 1);
  }
  if (news.met) {
    ordered::set(entry.group_receipt, static_cast<std::uint64_t>(news.met->receipt));
    ordered::set_release(entry.epochs_met, news.met->epochs);
  }
  if (news.lost) ordered::lose_rank(entry, news.lost->rank.word(), news.lost->from);
  ordered::bump(entry.group_sequence);
  ordered::bump(entry.wake_word);
  futex_wake(entry.wake_word);
}

bool ConsumerTable::has_demand() const noexcept {
  return std::any_of(records_.begin(), records_.end(),
                     [](const ConsumerRecord& one) { return !one.paused && !one.mirrors; });
}

bool ConsumerTable::all_have_read(bool to_the_end) const noexcept {
  const std::uint64_t published = tickets_.published();
  return std::all_of(records_.begin(), records_.end(), [&](const ConsumerRecord& one) {
    if (one.paused) return true;
    const auto position = position_of(one);
    if (!position || *position < published) return false;
    // The ranks of a group learn what their receipts add up to.
    const bool tells = to_the_end && one.group.world != 0 && one.admitted_at < published;
    return !tells || one.epochs_ended > ledger_.epoch_of(published - 1);
  });
}

void ConsumerTable::wake_reached(PendingWakes& wakes) noexcept {
  const std::uint64_t published = tickets_.published();
  const BoardView& board = board_;
  const std::size_t axes = board.axis_count();
  for (const ConsumerRecord& consumer : records_) {
    if (ordered::consumer_waits_for(*consumer.desk, published) ||
        (axes != 0 && ordered::consumer_waits_for_rows(*consumer.desk, &board.axis(0), axes))) {
      wakes.add(board_.consumer(consumer.index).wake_word);
    }
  }
}

void ConsumerTable::wake_all(PendingWakes& wakes) noexcept {
  for (const ConsumerRecord& consumer : records_) {
    if (ordered::consumer_sleeps(*consumer.desk)) {
      wakes.add(board_.consumer(consumer.index).wake_word);
    }
  }
}

std::string ConsumerTable::unique_name(const std::string& wanted) const {
  return numbered_name(wanted, [this](const std::string& name) {
    return std::any_of(records_.begin(), records_.end(),
                       [&](const ConsumerRecord& consumer) { return consumer.name == name; });
  });
}

}  // namespace batchcast::inline v0_1
