// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/consumer/attachment.hpp>

#include <batchcast/core/error.hpp>
#include <batchcast/core/inline.hpp>

#include <algorithm>
#include <cstring>

// Looking at what the ring holds without a place in the stream, and at what a GPU holds.
namespace batchcast::inline v0_1::detail {
namespace attachment_newest {

/// Of [begin, end), what lies in the epoch that has more of it.
inline std::pair<std::uint64_t, std::uint64_t> in_one_epoch(std::uint64_t begin, std::uint64_t end,
                                                            std::uint64_t samples_per_epoch) {
  if (samples_per_epoch == 0) return {begin, end};
  const std::uint64_t start = (end - 1) / samples_per_epoch * samples_per_epoch;
  if (start <= begin || end - start >= start - begin) return {std::max(begin, start), end};
  const std::uint64_t before = start - samples_per_epoch;
  return {std::max(begin, before), start};
}

}  // namespace attachment_newest

BATCHCAST_INLINE std::optional<Batch> Attachment::newest(std::uint64_t samples_max) {
  check_process();
  const BoardView view = board();
  const BoardProgress& progress = view.progress();
  const std::uint64_t capacity = view.head().capacity;
  const std::uint64_t per_epoch = view.head().samples_per_epoch;
  if (on_device()) wait_for_copied_batches();
  for (;;) {
    const std::uint64_t published = ordered::load_published(progress);
    const std::uint64_t oldest = oldest_held(ordered::load_claimed(progress), capacity,
                                             ordered::get_acquire(progress.valid_from));
    if (oldest >= published || samples_max == 0) return std::nullopt;
    const std::uint64_t wanted = published - std::min(samples_max, published);
    const auto [begin, end] =
        attachment_newest::in_one_epoch(std::max(oldest, wanted), published, per_epoch);
    Run run;
    run.position = begin;
    run.size = end - begin;
    run.epoch = per_epoch == 0 ? 0 : begin / per_epoch;
    BatchRecord& record = fresh_record(false);
    copy_samples(record, run);
    if (on_device()) delivery_->wait_for_copies();  // before it is looked whether they are good
    record.leased = false;
    record.own = true;
    // The newest are the last to be written over: the next round has younger ones, and fewer, as
    // the ring may turn faster than so many can be copied.
    if (oldest_held(ordered::load_claimed_after_reading(progress), capacity,
                    ordered::get_acquire(progress.valid_from)) > begin) {
      recycle(record);
      samples_max = std::max<std::uint64_t>(1, run.size / 2);
      continue;
    }
    return hand_out(record, run, fields_);
  }
}

BATCHCAST_INLINE Batch Attachment::copy_to_host(const BatchContents& from) {
  BatchRecord& record = fresh_record(false);
  const auto bytes_of = [&](std::size_t field) {
    return (from.size - 1) * from.strides[field] + fields_[field].sample_bytes;
  };
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < fields_.size(); ++i) total += align_copy(bytes_of(i));
  if (record.copy.size() < total + copy_alignment) record.copy.resize(total + copy_alignment);
  auto* to = reinterpret_cast<std::byte*>(
      align_copy(reinterpret_cast<std::uintptr_t>(record.copy.data())));
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    record.data[i] = to;
    record.strides[i] = from.strides[i];
    if (fields_[i].on_device) {
      delivery_->copy_to_host(to, from.data[i], bytes_of(i));
    } else {
      std::memcpy(to, from.data[i], bytes_of(i));
    }
    to += align_copy(bytes_of(i));
  }
  if (on_device()) delivery_->wait_for_copies();
  record.leased = false;
  record.own = true;
  Run run;
  run.position = from.position;
  run.size = from.size;
  run.epoch = from.epoch;
  return hand_out(record, run, host_fields_);
}

BATCHCAST_INLINE void Attachment::check_takes_part() const {
  if (!options_.observes) return;
  throw InvalidArgument("batchcast: this consumer only observes stream `" + options_.stream +
                        "`: it has no batches but `newest`. Attach without `observes`.");
}

}  // namespace batchcast::inline v0_1::detail
