// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "attachment.hpp"

#include <batchcast/core/clock.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/ring/capacity.hpp>

#include <cstring>
#include <span>
#include <variant>

// Batches and what they hold, and the pauses between epochs.
namespace batchcast::detail {
namespace {

// Copies begin at addresses that any vector instruction is content with.
constexpr std::uint64_t copy_alignment = 64;

std::uint64_t aligned(std::uint64_t bytes) noexcept {
  return (bytes + copy_alignment - 1) / copy_alignment * copy_alignment;
}

}  // namespace

NextBatch Attachment::next(std::uint64_t batch_size, int timeout_ms) {
  check_process();
  check_takes_part();
  if (has_let_go() && !rejoin()) {
    throw StreamFinished("batchcast: stream `" + options_.stream +
                         "` is finished: all of its epochs were made.");
  }
  for (;;) {
    Run run;
    switch (reader_->next(batch_size, timeout_ms, run)) {
      case Next::timed_out:
        return {Outcome::timed_out, {}};
      case Next::end_of_epoch:
        pause_if_idle();
        return {Outcome::end_of_epoch, {}};
      case Next::batch:
        break;
    }
    BatchRecord& record = fresh_record();
    if (copies()) {
      copy_samples(record, run);
      if (options_.pace == Pace::free) {
        const auto* ids = reinterpret_cast<const std::uint64_t*>(record.data.back());
        if (!reader_->copied(run, {ids, run.size})) {
          recycle(record);
          continue;
        }
      } else {
        check();  // what was copied after an eviction is not what was published
        reader_->give_back(run.lease);
      }
      record.leased = false;
    } else {
      show(record, run);
      record.leased = true;
    }
    if (attach_seconds_ == 0) {
      attach_seconds_ = seconds_from_ns(now_ns() - started_ns_);
      populate_from(run.position);
    }
    return {Outcome::batch, hand_out(record, run)};
  }
}

void Attachment::populate_from(std::uint64_t position) {
  std::vector<std::uint64_t> start_bytes;
  for (const FieldWindow& window : windows_) {
    start_bytes.push_back(static_cast<std::uint64_t>(window.at(position) - window.base));
  }
  populator_ = std::make_unique<Populator>(mappings_, MapMode::read_only, start_bytes);
}

bool Attachment::has_next_epoch() {
  check_process();
  check_takes_part();
  if (has_let_go() && !rejoin()) return false;
  for (;;) {
    if (const auto known = reader_->has_next_epoch(-1)) return *known;
  }
}

void Attachment::leave_epoch() noexcept {
  if (in_forked_child() || reader_->between_epochs()) return;
  reader_->leave_epoch();
  pause_if_idle();
}

// ---- records

BatchRecord& Attachment::fresh_record() {
  const std::lock_guard lock(mutex_);
  if (idle_records_.empty()) {
    auto record = std::make_unique<BatchRecord>();
    record->data.resize(fields_.size());
    record->strides.resize(fields_.size());
    records_.push_back(std::move(record));
    idle_records_.reserve(records_.size());  // so that taking one back cannot throw
    return *records_.back();
  }
  BatchRecord& record = *idle_records_.back();
  idle_records_.pop_back();
  return record;
}

void Attachment::recycle(BatchRecord& record) noexcept {
  const std::lock_guard lock(mutex_);
  idle_records_.push_back(&record);
}

void Attachment::show(BatchRecord& record, const Run& run) {
  for (std::size_t i = 0; i < windows_.size(); ++i) {
    record.data[i] = windows_[i].at(run.position);
    record.strides[i] = windows_[i].stride_bytes;
  }
}

void Attachment::copy_samples(BatchRecord& record, const Run& run) {
  std::uint64_t total = copy_alignment;
  for (const FieldWindow& window : windows_) total += aligned(window.sample_bytes * run.size);
  if (record.copy.size() < total) record.copy.resize(total);
  auto at = aligned(reinterpret_cast<std::uintptr_t>(record.copy.data()));
  for (std::size_t i = 0; i < windows_.size(); ++i) {
    const FieldWindow& window = windows_[i];
    auto* to = reinterpret_cast<std::byte*>(at);
    record.data[i] = to;
    record.strides[i] = window.sample_bytes;
    copy_from_ring(to, window, run.position, run.size);
    at += aligned(window.sample_bytes * run.size);
  }
}

Batch Attachment::hand_out(BatchRecord& record, const Run& run) {
  record.run = run;
  record.references.store(1, std::memory_order_relaxed);
  record.owner = shared_from_this();
  BatchContents contents;
  contents.fields = &fields_;
  contents.data = record.data.data();
  contents.strides = record.strides.data();
  contents.position = run.position;
  contents.size = run.size;
  contents.epoch = run.epoch;
  contents.writable = copies();
  contents.placement = options_.placement;
  return BatchRecord::handle(record, contents);
}

void Attachment::use(BatchRecord&, void*) {}

void Attachment::take_back(BatchRecord& record) noexcept {
  const bool idle = record.leased && reader_->give_back(record.run.lease);
  const std::lock_guard lock(mutex_);
  idle_records_.push_back(&record);
  if (!idle) return;
  if (abandoned_) {
    leave();
  } else if (pause_wanted_ && !paused_) {
    pause_wanted_ = false;
    say_pause();
  }
}

void retain(BatchRecord& record) noexcept {
  record.references.fetch_add(1, std::memory_order_relaxed);
}

void drop(BatchRecord& record) noexcept {
  if (record.owner->in_forked_child()) return;
  if (record.references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  const std::shared_ptr<Attachment> owner = std::move(record.owner);
  owner->take_back(record);
}

void check(const BatchRecord& record) { record.owner->check(); }

void use(BatchRecord& record, void* cuda_stream) { record.owner->use(record, cuda_stream); }

// ---- pauses

bool Attachment::has_let_go() noexcept {
  if (options_.between_epochs != BetweenEpochs::let_go) return false;
  const std::lock_guard lock(mutex_);  // the last lease may be coming back, and the pause with it
  return paused_ || pause_wanted_;
}

void Attachment::pause_if_idle() noexcept {
  if (options_.between_epochs != BetweenEpochs::let_go) return;
  const std::lock_guard lock(mutex_);
  if (paused_) return;
  const bool idle = reader_->idle();
  pause_wanted_ = !idle;
  if (!idle) return;
  say_pause();
}

void Attachment::say_pause() noexcept {
  paused_ = true;
  try {
    static_cast<void>(door_.send(encode(Pause{})));
  } catch (const std::exception&) {
    // The next rejoin meets the same door and says so.
  }
}

bool Attachment::rejoin() {
  {
    const std::lock_guard lock(mutex_);
    pause_wanted_ = false;
    if (!paused_)
      return true;  // batches of the last loop are still held: the place was never given up
  }
  check();
  DoorMessage answer;
  Rejoin request;
  request.join = options_.join;
  request.cursor = options_.cursor;
  if (door_.ask(encode(request), {}, answer, 0, -1) != DoorRead::message) throw_door_closed();
  const ProducerMessage message = decode_from_producer(answer.text);
  if (const auto* refusal = std::get_if<Refusal>(&message)) {
    if (refusal->kind == RefusalKind::finished) return false;
    throw_refused(*refusal);
  }
  check();
  if (!std::holds_alternative<Rejoined>(message)) throw_door_closed();
  {
    const std::lock_guard lock(mutex_);
    paused_ = false;
  }
  // A cursor is where the first loop begins; the others follow the stream.
  if (options_.join == Join::at) options_.join = Join::rewind;
  reader_->move_to(std::get<Rejoined>(message).position);
  return true;
}

void Attachment::throw_door_closed() {
  check();
  // The board knows how the stream ended; a producer that died left it running.
  const StreamState state = order::load_state(board().progress());
  if (state == StreamState::draining || state == StreamState::finished) {
    throw StreamFinished("batchcast: stream `" + options_.stream +
                         "` is finished: all of its epochs were made.");
  }
  const std::string text(board().progress().state_text.data());
  if (state == StreamState::stopped) {
    throw Stopped("batchcast: stream `" + options_.stream + "` was stopped: " + text);
  }
  if (state == StreamState::failed) {
    throw StreamFailed("batchcast: stream `" + options_.stream + "` failed: " + text);
  }
  throw ProducerGone("batchcast: stream `" + options_.stream +
                     "` lost its producer between two epochs. Start it again, and attach anew.");
}

// ---- the rest

void Attachment::check() const {
  check_process();
  reader_->check();
}

void Attachment::check_process() const {
  if (!in_forked_child()) return;
  throw Forked("batchcast: this process was forked from the one that attached to stream `" +
               options_.stream +
               "`, and cannot use its consumer. Attach after the fork, in the process that trains "
               "(with DataLoader workers: in none of them, num_workers = 0).");
}

void Attachment::check_batch_size(std::uint64_t batch_size) const {
  if (batch_size == 0) {
    throw InvalidArgument("batchcast: batch_size is 0. A batch has at least one sample.");
  }
  const std::uint64_t capacity = board().head().capacity;
  if (batch_size <= capacity) return;
  Schema all = schema_;
  all.push_back({std::string(sample_id_name), DType::u64, {}});
  throw RingTooSmall("batchcast: a batch of " + std::to_string(batch_size) +
                     " samples does not fit into the ring of stream `" + options_.stream +
                     "`, which spans " + std::to_string(capacity) + ". It would take --memory " +
                     std::to_string(memory_for(all, batch_size, page_bytes())) + " bytes.");
}

void Attachment::set_batch_size(std::uint64_t batch_size) noexcept {
  order::set(reinterpret_cast<Desk*>(desk_->data())->batch_size,
             static_cast<std::uint32_t>(batch_size));
}

void Attachment::abandon() noexcept {
  leave_epoch();
  const std::lock_guard lock(mutex_);
  abandoned_ = true;
  if (reader_->idle()) leave();
}

bool Attachment::producer_is_dead() noexcept { return is_dead(producer_pidfd_); }

std::string Attachment::why_revoked() {
  DoorMessage message;
  try {
    constexpr int farewell_timeout_ms = 200;
    while (door_ && door_.receive(message, 0, farewell_timeout_ms) == DoorRead::message) {
      const ProducerMessage said = decode_from_producer(message.text);
      if (const auto* farewell = std::get_if<Farewell>(&said)) return farewell->reason;
    }
  } catch (const std::exception&) {
    // Only the reason is lost.
  }
  return "the producer evicted it";
}

}  // namespace batchcast::detail
