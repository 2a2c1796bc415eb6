// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/consumer/attachment.hpp>

#include <batchcast/core/bytes_text.hpp>
#include <batchcast/core/clock.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/inline.hpp>
#include <batchcast/ring/capacity.hpp>

#include <algorithm>
#include <span>
#include <utility>

// Batches: where they come from and what they show. How they go is in attachment_release.ipp.
namespace batchcast::inline v0_1::detail {
namespace attachment_batches {

// Of batches that are copied for streams, so many may wait for these: each has memory of its own.
inline constexpr std::size_t pending_copies_max = 4;
inline constexpr std::size_t streams_at_first = 8;

// At the first batches that are shown in place, and then at one of so many, it is looked whether
// another handler of faults was put before ours: a system call.
inline constexpr std::uint64_t handler_looked_for_at_first = 4;
inline constexpr std::uint64_t handler_looked_for_every = 1024;

}  // namespace attachment_batches

BATCHCAST_INLINE NextBatch Attachment::next(std::uint64_t batch_size, int timeout_ms) {
  check_process();
  check_takes_part();
  if (delivery_ && !wait_for_streams(timeout_ms)) return {Outcome::timed_out, {}};
  if (has_let_go()) {
    const Rejoining rejoined = rejoin(timeout_ms);
    if (rejoined == Rejoining::timed_out) return {Outcome::timed_out, {}};
    if (rejoined == Rejoining::over) {
      throw StreamFinished("batchcast: stream `" + options_.stream +
                           "` is finished: all of its epochs were made.");
    }
  }
  for (;;) {
    Run run;
    switch (next_run(batch_size, timeout_ms, run)) {
      case Next::timed_out:
        return {Outcome::timed_out, {}};
      case Next::end_of_epoch:
        pause_if_idle();
        return {Outcome::end_of_epoch, {}};
      case Next::batch:
        break;
    }
    BatchRecord& record = fresh_record(true);
    try {
      if (!fill(record, run)) {
        recycle(record);
        continue;
      }
    } catch (...) {  // of a copy: `undelivered_` has the run
      recycle(record);
      throw;
    }
    undelivered_.reset();
    if (attach_seconds_ == 0) {
      attach_seconds_ = seconds_from_ns(now_ns() - started_ns_);
      populate_from(mappings_, run.position);
    }
    return {Outcome::batch, hand_out(record, run, fields_)};
  }
}

/// The run that could not be delivered the last time, whatever the batch size is now, or the next.
BATCHCAST_INLINE Next Attachment::next_run(std::uint64_t batch_size, int timeout_ms, Run& run) {
  if (undelivered_) {
    check();
    run = *undelivered_;
    return Next::batch;
  }
  const Next next = reader_->next(batch_size, timeout_ms, run);
  // At `free` pace the reader itself stays where it is until the copy is whole.
  if (next == Next::batch && options_.pace == Pace::lockstep) undelivered_ = run;
  return next;
}

BATCHCAST_INLINE std::uint64_t Attachment::cursor() const noexcept {
  return undelivered_ ? undelivered_->position : reader_->position();
}

/// False if it was written over before its copy was whole.
BATCHCAST_INLINE bool Attachment::fill(BatchRecord& record, const Run& run) {
  record.leased = options_.pace == Pace::lockstep;
  const bool written = has_written();
  if (written) leave_place(record);
  if (written && !first_write_noted_) note_first_write(run.position);
  record.own = copies() || (written && !on_device());
  if (!record.own) {
    const std::uint64_t shown = shown_++;
    if (keeps_writes_ && (shown < attachment_batches::handler_looked_for_at_first ||
                          shown % attachment_batches::handler_looked_for_every == 0)) {
      FaultRange::come_first();
    }
    show(record, run, written);
    return true;
  }
  copy_samples(record, run);
  if (options_.pace == Pace::free) {
    if (on_device()) delivery_->wait_for_copies();  // whether they are good is known only then
    const auto* ids = reinterpret_cast<const std::uint64_t*>(record.data.back());
    return reader_->copied(run, {ids, run.size});
  }
  check();  // what was copied after an eviction is not what was published
  record.leased = false;
  if (on_device()) {
    give_back_when_copied(record, run.lease);
  } else {
    reader_->give_back(run.lease);
  }
  return true;
}

BATCHCAST_INLINE void Attachment::leave_place(BatchRecord& record) noexcept {
  const std::lock_guard lock(mutex_);
  leave_place_locked(record);
}

BATCHCAST_INLINE void Attachment::leave_place_locked(BatchRecord& record) noexcept {
  if (!std::exchange(record.in_place, false)) return;
  // A batch that is counted after this one has left looks at `written_` after the mutex was ours.
  // So it finds it set as well, and is not shown in place.
  if (--in_place_ != 0 || !has_written() || std::exchange(given_back_, true)) return;
  // But the ids, which are last: the reader may be adding up those of a run that is not counted
  // yet, and has looked at `written_` before it was set.
  const std::size_t samples = private_chunks_.size() - 1;
  for (std::size_t i = 0; i < samples; ++i) private_chunks_[i]->give_back();
}

BATCHCAST_INLINE void Attachment::note_first_write(std::uint64_t position) {
  first_write_noted_ = true;
  log(LogLevel::warning,
      "`" + welcome_.name + "` wrote into a batch of stream `" + options_.stream +
          "`, whose memory all trainers read. The write stays its own; from now on its batches are "
          "copies. Attaching with access = private makes them copies from the start, which is "
          "cheaper; clone() leaves them in place.");
  populate_from(mappings_for_copies_, position);
}

/// Where it matters which batches the streams have passed. Takes its time off the time-out.
BATCHCAST_INLINE bool Attachment::wait_for_streams(int& timeout_ms) {
  // Whether a loop joins anew must not depend on how far the GPU has come.
  const std::size_t most = has_let_go() ? 0
                           : copies()   ? attachment_batches::pending_copies_max
                                        : ~std::size_t{0};
  if (pending_ <= most) return true;
  const std::uint64_t started_ns = now_ns();
  if (!wait_for_pending(most, timeout_ms)) return false;
  const auto waited_ms = static_cast<std::int64_t>((now_ns() - started_ns) / 1'000'000);
  if (timeout_ms > 0) {
    timeout_ms = static_cast<int>(std::max<std::int64_t>(0, timeout_ms - waited_ms));
  }
  return true;
}

BATCHCAST_INLINE void Attachment::wait_for_copied_batches() {
  static_cast<void>(wait_for_pending(attachment_batches::pending_copies_max, -1));
}

BATCHCAST_INLINE void Attachment::populate_from(const std::vector<DoubleMapping>& mappings,
                                                std::uint64_t position) {
  if (options_.pin && !stages_) return;  // every page is there
  std::vector<std::uint64_t> start_bytes;
  for (const std::size_t field : mapped_fields_) {
    const FieldWindow& window = windows_[field];
    start_bytes.push_back(static_cast<std::uint64_t>(window.at(position) - window.base));
  }
  populator_ = std::make_unique<Populator>(mappings, MapMode::read_only, start_bytes);
}

BATCHCAST_INLINE bool Attachment::has_next_epoch() {
  check_process();
  check_takes_part();
  int for_ever = -1;
  if (delivery_) static_cast<void>(wait_for_streams(for_ever));
  if (has_let_go() && rejoin(for_ever) == Rejoining::over) return false;
  for (;;) {
    if (const auto known = reader_->has_next_epoch(-1)) return *known;
  }
}

BATCHCAST_INLINE void Attachment::leave_epoch() noexcept {
  if (in_forked_child()) return;
  if (rejoin_asked_) take_back_rejoin();
  if (reader_->between_epochs()) return;
  if (undelivered_) reader_->give_back(std::exchange(undelivered_, std::nullopt)->lease);
  reader_->leave_epoch();
  pause_if_idle();
}

// ---- records

BATCHCAST_INLINE BatchRecord& Attachment::fresh_record(bool may_be_shown) {
  const std::lock_guard lock(mutex_);
  if (idle_records_.empty()) add_record();
  BatchRecord& record = *idle_records_.back();
  idle_records_.pop_back();
  record.uses = 1;
  record.copied = false;
  record.in_place = may_be_shown && keeps_writes_;
  if (record.in_place) ++in_place_;  // before `fill` looks at `written_`
  return record;
}

BATCHCAST_INLINE void Attachment::add_record() {
  auto record = std::make_unique<BatchRecord>();
  record->data.resize(fields_.size());
  record->strides.resize(fields_.size());
  record->number = records_.size();
  if (delivery_) record->streams.reserve(attachment_batches::streams_at_first);
  idle_records_.reserve(records_.size() + 1);  // so that taking one back cannot throw
  idle_records_.push_back(record.get());
  records_.push_back(std::move(record));
}

BATCHCAST_INLINE void Attachment::recycle(BatchRecord& record) noexcept {
  const std::lock_guard lock(mutex_);
  leave_place_locked(record);
  idle_records_.push_back(&record);
}

/// As copies only what crosses the end of a field that is mapped once, where nothing else is
/// contiguous, what crosses from one registration of pinned memory into the next, and what is in
/// host memory once that was written.
BATCHCAST_INLINE void Attachment::show(BatchRecord& record, const Run& run, bool written) {
  std::uint64_t capacity = 0;
  std::uint64_t place = 0;
  for (std::size_t i = 0; i < shown_windows_.size(); ++i) {
    const FieldWindow& window = shown_windows_[i];
    if (window.capacity != capacity) {  // a division is a tenth of all that `next` does
      capacity = window.capacity;
      place = run.position % capacity;
    }
    record.data[i] = window.base + place * window.stride_bytes;
    record.strides[i] = window.stride_bytes;
  }
  if (written || gathers_) show_copies(record, run, written);
}

BATCHCAST_INLINE void Attachment::show_copies(BatchRecord& record, const Run& run, bool written) {
  std::vector<bool> wanted(shown_windows_.size());
  for (std::size_t i = 0; i < shown_windows_.size(); ++i) {
    const FieldWindow& window = shown_windows_[i];
    const std::uint64_t place = run.position % window.capacity;
    const bool gathered = mapped_once_[i] && place + run.size > window.capacity;
    const bool cut = options_.pin && !delivery_->in_one_pin(place * window.stride_bytes,
                                                            run.size * window.stride_bytes);
    wanted[i] = gathered || cut || (written && !fields_[i].on_device);
  }
  if (std::find(wanted.begin(), wanted.end(), true) == wanted.end()) return;
  copy_fields(record, run, wanted);
}

BATCHCAST_INLINE void Attachment::copy_samples(BatchRecord& record, const Run& run) {
  copy_fields(record, run, {});
}

BATCHCAST_INLINE void Attachment::copy_fields(BatchRecord& record, const Run& run,
                                              const std::vector<bool>& wanted) {
  const auto takes = [&](std::size_t i) { return wanted.empty() || wanted[i]; };
  std::uint64_t on_host = 0;
  std::uint64_t on_device = 0;
  for (std::size_t i = 0; i < windows_.size(); ++i) {
    if (!takes(i)) continue;
    (fields_[i].on_device ? on_device : on_host) += align_copy(windows_[i].sample_bytes * run.size);
  }
  std::byte* host_at = host_room(record, on_host);
  std::byte* device_at = on_device == 0 ? nullptr : delivery_->buffer(record.number, on_device);
  for (std::size_t i = 0; i < windows_.size(); ++i) {
    if (!takes(i)) continue;
    const FieldWindow& window = windows_[i];
    std::byte*& at = fields_[i].on_device ? device_at : host_at;
    record.data[i] = at;
    record.strides[i] = window.sample_bytes;
    if (fields_[i].on_device) {
      delivery_->copy_out(at, window, run.position, run.size);
    } else {
      copy_from_ring(at, window, run.position, run.size);
    }
    at += align_copy(window.sample_bytes * run.size);
  }
  if (on_device == 0) return;
  record.copied = true;
  delivery_->order_copies(cuda_stream_);
}

BATCHCAST_INLINE std::byte* Attachment::host_room(BatchRecord& record, std::uint64_t bytes) {
  if (stages_ && bytes != 0) return delivery_->host_buffer(record.number, bytes);
  const std::uint64_t room = bytes + copy_alignment;
  if (record.copy.size() < room) record.copy.resize(room);
  return reinterpret_cast<std::byte*>(
      align_copy(reinterpret_cast<std::uintptr_t>(record.copy.data())));
}

BATCHCAST_INLINE Batch Attachment::hand_out(BatchRecord& record, const Run& run,
                                            const FieldTable& fields) {
  record.run = run;
  record.references.store(1, std::memory_order_relaxed);
  record.owner = shared_from_this();
  BatchContents contents;
  contents.fields = &fields;
  contents.data = record.data.data();
  contents.strides = record.strides.data();
  contents.position = run.position;
  contents.size = run.size;
  contents.epoch = run.epoch;
  contents.writable = record.own;
  contents.keeps_writes = record.own || keeps_writes_;
  record.streams.clear();
  if (&fields == &fields_) {
    contents.placement = options_.placement;
    if (delivery_) record.streams.push_back(cuda_stream_);
  }
  return BatchRecord::handle(record, contents);
}

// ---- the rest

BATCHCAST_INLINE void Attachment::check() const {
  check_process();
  reader_->check();
}

BATCHCAST_INLINE void Attachment::check_process() const {
  if (!in_forked_child()) return;
  throw Forked("batchcast: this process was forked from the one that attached to stream `" +
               options_.stream +
               "`, and cannot use its consumer. Attach after the fork, in the process that trains "
               "(with DataLoader workers: in none of them, num_workers = 0).");
}

BATCHCAST_INLINE void Attachment::check_batch_size(std::uint64_t batch_size) const {
  if (batch_size == 0) {
    throw InvalidArgument("batchcast: batch_size is 0. A batch has at least one sample.");
  }
  const std::uint64_t capacity = board().head().capacity;
  if (batch_size <= capacity) return;
  Schema there;
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    if (fields_[i].on_device == on_device()) there.push_back(fields_[i].spec);
  }
  const std::uint64_t granularity = on_device() ? delivery_->granularity() : page_bytes();
  const std::uint64_t enough = std::max(
      memory_for(there, batch_size, granularity),
      memory_for(there, batch_size, granularity, on_device() ? lost_part_on_device : lost_part));
  throw RingTooSmall("batchcast: a batch of " + std::to_string(batch_size) +
                     " samples does not fit into the ring of stream `" + options_.stream +
                     "`, which spans " + std::to_string(capacity) + ". It would take " +
                     (on_device() ? "--device-memory " : "--memory ") + memory_argument(enough) +
                     ".");
}

BATCHCAST_INLINE void Attachment::set_batch_size(std::uint64_t batch_size) noexcept {
  ordered::set(reinterpret_cast<Desk*>(desk_->data())->batch_size,
               static_cast<std::uint32_t>(batch_size));
}

BATCHCAST_INLINE bool Attachment::producer_is_dead() noexcept { return is_dead(producer_pidfd_); }

BATCHCAST_INLINE std::string Attachment::why_revoked() {
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

}  // namespace batchcast::inline v0_1::detail
