// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/consumer/kept_batches.hpp>

#include <batchcast/core/bytes_text.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/inline.hpp>
#include <batchcast/core/log.hpp>
#include <batchcast/core/process_end.hpp>
#include <batchcast/ring/cursor.hpp>
#include <batchcast/ring/memory_left.hpp>

#include <exception>
#include <utility>

namespace batchcast::inline v0_1::detail {

BATCHCAST_INLINE void KeptBatches::make_all_own() noexcept {
  if (!is_wanted()) return;
  keep_all();
  warn_once();
}

BATCHCAST_INLINE void KeptBatches::keep_all() noexcept {
  try {
    while (try_oldest()) continue;
  } catch (const std::exception&) {
    // There is no memory for the list of what is shown: the others keep their leases.
  }
}

/// Also of a dead producer's ring: what the trainer holds there must not end its ride.
BATCHCAST_INLINE bool KeptBatches::make_oldest_own() noexcept {
  if (!is_possible()) return false;
  try {
    if (!try_oldest()) return false;
  } catch (const std::exception&) {
    return false;
  }
  warn_once();
  return true;
}

/// Whether keeping is of use. It is not where no producer waits for this consumer any more, or
/// where the process ends.
BATCHCAST_INLINE bool KeptBatches::is_wanted() const noexcept {
  return is_possible() && !link_.producer_is_dead();
}

BATCHCAST_INLINE bool KeptBatches::is_possible() const noexcept {
  if (!ring_.writes().possible() || ring_.delivery() != nullptr || process_ends()) return false;
  const StreamState state = ordered::load_state(ring_.board().progress());
  return !has_ended(state) || state == StreamState::draining;
}

BATCHCAST_INLINE bool KeptBatches::try_oldest() {
  const Batch held = pool_.hold_oldest();
  return held && make_own(BatchRecord::of(held));
}

BATCHCAST_INLINE bool KeptBatches::make_own(BatchRecord& record) {
  const std::uint64_t bytes = bytes_of(record);
  if (!has_room_for(bytes, pool_.kept().bytes)) return false;
  std::vector<AddressRange> live;
  for (std::size_t mapping = 0; mapping < ring_.mappings(); ++mapping) {
    live.clear();
    pool_.add_shown(mapping, live);
    PrivateChunks& chunks = *ring_.writes().chunks()[mapping];
    if (chunks.keep(ring_.addresses_of(mapping, record.run, record.rows), live)) continue;
    pool_.look_for_private();
    return false;
  }
  // An evicted consumer's samples may have been written over before they were copied.
  pool_.make_own(record, bytes, !reader_.revoked());
  return true;
}

BATCHCAST_INLINE void KeptBatches::admit_copy(BatchRecord& record) {
  const std::uint64_t bytes = bytes_of(record);
  // A trainer that keeps one batch continues, for batches of any size: Python has the last one
  // while the next is made.
  const BatchPool::Kept kept = pool_.kept();
  if (kept.copies > 1 && !has_room_for(bytes, kept.copied_bytes)) {
    throw RingTooSmall(
        text("batchcast: this consumer keeps {} batches of stream `{}`, {}, the oldest from "
             "position {} on. No more than its ring has is kept, {}, and as much copied beside "
             "that, nor a batch above half of the memory that is left. Drop batches sooner, or "
             "give the stream more memory (--memory).",
             kept.batches, options_.stream, bytes_text(kept.bytes + kept.copied_bytes),
             kept.oldest.position, bytes_text(ring_.mapped_bytes())));
  }
  pool_.count_kept(record, bytes);
  if (kept.copies > 1) warn_once();
}

BATCHCAST_INLINE std::uint64_t KeptBatches::bytes_of(const BatchRecord& record) const noexcept {
  std::uint64_t bytes = 0;
  for (std::size_t mapping = 0; mapping < ring_.mappings(); ++mapping) {
    const AddressRange shown = ring_.addresses_of(mapping, record.run, record.rows);
    bytes += shown.end - shown.begin;
  }
  return bytes;
}

BATCHCAST_INLINE bool KeptBatches::has_room_for(std::uint64_t bytes, std::uint64_t besides) const {
  return besides + bytes <= ring_.mapped_bytes() && bytes <= memory_left().bytes() / 2;
}

BATCHCAST_INLINE void KeptBatches::warn_once() noexcept {
  if (warned_) return;
  const BatchPool::Kept kept = pool_.kept();
  // Two are no sign: loops that fetch ahead, such as Accelerate's, have one and ask for the next.
  if (kept.batches <= 2) return;
  warned_ = true;
  try {
    report(
        options_.log, LogLevel::warning,
        text("`{}` keeps {} batches of stream `{}`, {}, the oldest of epoch {} from position {}. "
             "Each takes private memory until it is dropped. Lists, autograd graphs and the "
             "tracebacks of exceptions hold batches: see \"Batches that are kept\" in "
             "docs/troubleshooting.md.",
             consumer_, kept.batches, options_.stream, bytes_text(kept.bytes + kept.copied_bytes),
             kept.oldest.epoch, kept.oldest.position));
  } catch (const std::exception&) {
    // Only the warning is lost.
  }
}

BATCHCAST_INLINE void KeptBatches::show_ring_again() {
  const std::uint32_t word = ring_.writes().word();
  if (word == private_word::kept) pool_.show_ring_again();
}

BATCHCAST_INLINE void KeptBatches::reserve_rest() noexcept {
  if (!ring_.writes().possible() || ring_.delivery() != nullptr || process_ends()) return;
  if (!reader_.idle() || !pool_.has_batches_out()) return;
  try {
    ring_.reserve([this](std::size_t mapping) { return shown_of(mapping); });
  } catch (const std::exception&) {
    // There is no memory for that list: what is still there goes with the last batch.
  }
  link_.close();
}

BATCHCAST_INLINE void KeptBatches::outlive_ring() noexcept {
  if (ring_.delivery() != nullptr || process_ends()) return;
  if (ring_.writes().possible()) keep_all();
  if (!reader_.idle()) return;
  try {
    ring_.reserve_fields([this](std::size_t mapping) { return shown_of(mapping); });
  } catch (const std::exception&) {
    // As above.
  }
}

BATCHCAST_INLINE void KeptBatches::give_device_memory_back() noexcept {
  if (!ring_.on_device() || process_ends()) return;
  if (reader_.idle() && !pool_.waits_for_streams()) ring_.delivery()->unmap_all();
}

BATCHCAST_INLINE std::vector<AddressRange> KeptBatches::shown_of(std::size_t mapping) {
  std::vector<AddressRange> live;
  pool_.add_shown(mapping, live);
  return live;
}

}  // namespace batchcast::inline v0_1::detail
