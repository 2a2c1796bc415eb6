// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/consumer/batch_pool.hpp>

#include <batchcast/consumer/host_copy.hpp>
#include <batchcast/core/deadline.hpp>
#include <batchcast/core/inline.hpp>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace batch_pool {

inline constexpr std::size_t streams_at_first = 8;

}  // namespace batch_pool

// ---- out

BATCHCAST_INLINE BatchPool::FreshRecord BatchPool::take(std::shared_ptr<BatchPool> owner,
                                                        const Run& run, bool may_be_shown) {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) add_record();
  BatchRecord& record = *idle_.back();
  idle_.pop_back();
  record.owner = std::move(owner);
  record.run = run;
  filler_.choose_fields(record, run);
  record.rows_are_sound = ring_.axis_count() == 0 || ring_.find_rows(run, record.rows);
  record.uses = 1;
  record.copied = false;
  record.leased = false;
  record.sound.store(false, std::memory_order_relaxed);
  record.own = true;
  record.in_place = may_be_shown && ring_.writes().possible();
  if (record.in_place) ++in_place_;  // before it is looked for a write
  return FreshRecord(&record);
}

BATCHCAST_INLINE void BatchPool::add_record() {
  auto record = std::make_unique<BatchRecord>();
  record->data.resize(ring_.fields().size());
  record->strides.resize(ring_.fields().size());
  record->rows.resize(ring_.axis_count());
  record->number = records_.size();
  if (ring_.delivery() != nullptr) record->streams.reserve(batch_pool::streams_at_first);
  idle_.reserve(records_.size() + 1);  // so that taking one back cannot throw
  shown_.reserve(records_.size() + 1);
  records_.push_back(std::move(record));
  idle_.push_back(records_.back().get());
}

BATCHCAST_INLINE void BatchPool::leave_place(BatchRecord& record) noexcept {
  const std::lock_guard lock(mutex_);
  leave_place_locked(record);
}

BATCHCAST_INLINE void BatchPool::leave_place_locked(BatchRecord& record) noexcept {
  if (!std::exchange(record.in_place, false)) return;
  // A batch that is counted after this one has left is looked for a write after the mutex was ours.
  // So the write is found as well, and that batch is not shown in place.
  if (--in_place_ != 0 || !ring_.writes().written()) return;
  if (!std::exchange(memory_given_back_, true)) ring_.writes().give_memory_back();
}

/// Gives back private pages that the batch showed, and that no other batch shows.
BATCHCAST_INLINE void BatchPool::give_pages_back(const BatchRecord& record) noexcept {
  if (!ring_.is_private(record.run, record.rows)) return;
  left_private_ = true;
  for (std::size_t mapping = 0; mapping < ring_.mappings(); ++mapping) {
    shown_.clear();
    add_shown_locked(mapping, shown_);
    ring_.writes().chunks()[mapping]->give_back(
        ring_.addresses_of(mapping, record.run, record.rows), shown_);
  }
}

BATCHCAST_INLINE void BatchPool::Recycle::operator()(BatchRecord* record) const noexcept {
  const std::shared_ptr<BatchPool> pool = std::move(record->owner);
  pool->recycle(*record);
}

BATCHCAST_INLINE void BatchPool::recycle(BatchRecord& record) noexcept {
  const std::lock_guard lock(mutex_);
  make_idle(record);
}

/// The mutex is held.
BATCHCAST_INLINE void BatchPool::make_idle(BatchRecord& record) noexcept {
  const bool was_shown = record.in_place;
  leave_place_locked(record);
  if (was_shown && (ring_.writes().word() & private_word::kept) != 0) give_pages_back(record);
  record.kept = false;
  idle_.push_back(&record);
}

BATCHCAST_INLINE void BatchPool::give_back_when_copied(BatchRecord& record,
                                                       std::uint64_t lease) noexcept {
  if (!ring_.on_device()) {  // the copy is made
    static_cast<void>(reader_.give_back(lease));
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    ++waiting_;
    ++record.uses;
  }
  record.copied_lease = lease;
  record.copier = record.owner;
  ring_.delivery()->when_copied(&record, &copies_made);
}

BATCHCAST_INLINE Batch BatchPool::hand_out(FreshRecord record) {
  return hand_out(std::move(record), ring_.fields(), ring_.placement());
}

BATCHCAST_INLINE Batch BatchPool::hand_out(FreshRecord fresh, const FieldTable& fields,
                                           Placement placement) {
  BatchRecord& record = *fresh.release();
  const Run& run = record.run;
  record.references.store(1, std::memory_order_relaxed);
  BatchContents contents;
  contents.fields = &fields;
  contents.data = record.data.data();
  contents.strides = record.strides.data();
  contents.axes = record.rows.data();
  contents.position = run.position;
  contents.size = run.size;
  contents.epoch = run.epoch;
  contents.padding = run.padding;
  if (run.is_window()) {
    const AxisRows& rows = record.rows[run.rows_axis];
    contents.fields = &record.window->fields();
    contents.size = run.window_runs;
    contents.window_axis = static_cast<int>(run.rows_axis);
    contents.samples = rows.offsets.size() - 1;
    contents.row = run.first_row_in_sample;
  }
  contents.writable = record.own;
  contents.keeps_writes = record.own || ring_.writes().keeps_writes();
  contents.placement = placement;
  return BatchRecord::handle(record, contents);
}

BATCHCAST_INLINE Batch BatchPool::copy_to_host(const BatchRecord& record,
                                               const BatchContents& contents) {
  Run run;
  run.position = contents.position;
  run.size = contents.size;
  run.epoch = contents.epoch;
  run.padding = contents.padding;
  FreshRecord copy = take(record.owner, run, false);
  copy->rows = record.rows;  // the ring's tables may have forgotten a batch that is kept
  filler_.copy_to_host(*copy, contents);
  return hand_out(std::move(copy), ring_.host_fields(), Placement());
}

// ---- while it is out

BATCHCAST_INLINE void BatchPool::check() const {
  process_.check();
  reader_.check();
}

/// A copy was looked at when it was made, before its lease went back.
BATCHCAST_INLINE void BatchPool::check(const BatchRecord& record) const {
  process_.check();
  const bool is_copy = record.own && ring_.delivery() == nullptr;
  if (is_copy || !reader_.revoked()) return;
  // Or it was kept since, and its consumer has left: then the place is not its own any more.
  if (!record.sound.load(std::memory_order_acquire)) reader_.check();
}

BATCHCAST_INLINE void BatchPool::use(BatchRecord& record, void* cuda_stream) {
  if (ring_.delivery() == nullptr || in_forked_child()) return;
  const std::lock_guard lock(mutex_);
  const auto known = std::find(record.streams.begin(), record.streams.end(), cuda_stream);
  if (known != record.streams.end()) return;
  if (record.copied) ring_.delivery()->order_copies(cuda_stream);
  record.streams.push_back(cuda_stream);
}

// ---- while the trainer keeps it

BATCHCAST_INLINE Batch BatchPool::hold_oldest() {
  for (;;) {
    std::unique_lock lock(mutex_);
    BatchRecord* oldest = nullptr;
    for (const auto& record : records_) {
      if (!record->in_place || record->kept) continue;
      if (oldest == nullptr || record->run.lease < oldest->run.lease) oldest = record.get();
    }
    if (oldest == nullptr) return {};
    std::uint32_t handles = oldest->references.load(std::memory_order_relaxed);
    while (handles != 0) {
      if (oldest->references.compare_exchange_weak(handles, handles + 1,
                                                   std::memory_order_relaxed)) {
        return BatchRecord::handle(*oldest, {});
      }
    }
    lock.unlock();
    std::this_thread::yield();  // another thread gives it back at this moment
  }
}

BATCHCAST_INLINE void BatchPool::add_shown(std::size_t mapping, std::vector<AddressRange>& to) {
  const std::lock_guard lock(mutex_);
  to.reserve(to.size() + records_.size());
  add_shown_locked(mapping, to);
}

BATCHCAST_INLINE void BatchPool::add_shown_locked(std::size_t mapping,
                                                  std::vector<AddressRange>& to) const {
  for (const auto& record : records_) {
    if (!record->in_place) continue;
    const AddressRange shown = ring_.addresses_of(mapping, record->run, record->rows);
    if (shown.begin != shown.end) to.push_back(shown);
  }
}

BATCHCAST_INLINE void BatchPool::count_kept(BatchRecord& record, std::uint64_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  record.kept = true;
  record.kept_bytes = bytes;
}

BATCHCAST_INLINE void BatchPool::make_own(BatchRecord& record, std::uint64_t bytes,
                                          bool sound) noexcept {
  count_kept(record, bytes);
  record.sound.store(sound, std::memory_order_release);
  if (!std::exchange(record.leased, false)) return;
  if (reader_.give_back(record.run.lease)) membership_.leases_are_back();
}

BATCHCAST_INLINE BatchPool::Kept BatchPool::kept() noexcept {
  const std::lock_guard lock(mutex_);
  Kept kept;
  for (const auto& record : records_) {
    if (!record->kept) continue;
    if (!record->in_place) ++kept.copies;
    (record->in_place ? kept.bytes : kept.copied_bytes) += record->kept_bytes;
    if (kept.batches++ == 0 || record->run.lease < kept.oldest.lease) kept.oldest = record->run;
  }
  return kept;
}

BATCHCAST_INLINE void BatchPool::show_ring_again() {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(left_private_, false)) return;
  std::uint64_t still_private = 0;
  for (std::size_t mapping = 0; mapping < ring_.mappings(); ++mapping) {
    shown_.clear();
    add_shown_locked(mapping, shown_);
    still_private += ring_.show_ring_again(mapping, shown_);
  }
  if (still_private == 0) ring_.writes().none_is_kept();
}

BATCHCAST_INLINE void BatchPool::look_for_private() noexcept {
  const std::lock_guard lock(mutex_);
  left_private_ = true;
}

BATCHCAST_INLINE bool BatchPool::has_batches_out() noexcept {
  const std::lock_guard lock(mutex_);
  return idle_.size() != records_.size();
}

// ---- back

BATCHCAST_INLINE void BatchPool::take_back(BatchRecord& record) noexcept {
  if (ring_.delivery() == nullptr) {
    streams_passed(&record);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    ++waiting_;
  }
  const std::shared_ptr<BatchPool> self = record.owner;  // `streams_passed` may be its end
  ring_.delivery()->when_passed(record.streams, &record, &streams_passed);
}

BATCHCAST_INLINE void BatchPool::streams_passed(void* record) noexcept {
  auto& passed = *static_cast<BatchRecord*>(record);
  const std::shared_ptr<BatchPool> pool = std::move(passed.owner);
  if (passed.leased && pool->reader_.give_back(passed.run.lease)) {
    pool->membership_.leases_are_back();
  }
  pool->end_use(passed);
}

BATCHCAST_INLINE void BatchPool::copies_made(void* record) noexcept {
  auto& copied = *static_cast<BatchRecord*>(record);
  const std::shared_ptr<BatchPool> pool = std::move(copied.copier);
  if (pool->reader_.give_back(copied.copied_lease)) pool->membership_.leases_are_back();
  pool->end_use(copied);
}

/// Called after a lease was given back. Once no batch waits for streams, a consumer with `let_go`
/// has paused.
BATCHCAST_INLINE void BatchPool::end_use(BatchRecord& record) noexcept {
  const std::lock_guard lock(mutex_);
  if (--record.uses == 0) make_idle(record);
  if (ring_.delivery() == nullptr) return;
  --waiting_;
  passed_.notify_all();
}

BATCHCAST_INLINE bool BatchPool::wait_for_streams(std::size_t most, int& timeout_ms) {
  if (waiting_ <= most) return true;
  const Deadline deadline(timeout_ms);
  std::unique_lock lock(mutex_);
  const auto enough = [this, most] { return waiting_ <= most; };
  if (timeout_ms < 0) {
    passed_.wait(lock, enough);
  } else if (!passed_.wait_for(lock, std::chrono::milliseconds(timeout_ms), enough)) {
    return false;
  }
  timeout_ms = deadline.left_ms();
  return true;
}

// ---- what Batch calls

BATCHCAST_INLINE void retain(BatchRecord& record) noexcept {
  record.references.fetch_add(1, std::memory_order_relaxed);
}

BATCHCAST_INLINE void drop(BatchRecord& record) noexcept {
  BatchPool& pool = *record.owner;
  if (pool.in_forked_child()) return;
  if (record.references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  pool.take_back(record);
}

BATCHCAST_INLINE void check(const BatchRecord& record) { record.owner->check(record); }

BATCHCAST_INLINE void use(BatchRecord& record, void* cuda_stream) {
  record.owner->use(record, cuda_stream);
}

BATCHCAST_INLINE Batch copy_to_host(const Batch& batch) {
  const BatchRecord& record = BatchRecord::of(batch);
  return record.owner->copy_to_host(record, BatchRecord::contents(batch));
}

}  // namespace batchcast::inline v0_1::detail
