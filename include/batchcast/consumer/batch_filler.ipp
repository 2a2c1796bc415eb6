// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/consumer/batch_filler.hpp>

#include <batchcast/core/inline.hpp>

#include <algorithm>
#include <cstring>

namespace batchcast::inline v0_1::detail {
namespace batch_filler {

// Copies begin at addresses that any vector instruction, and any kernel, is content with.
inline constexpr std::uint64_t alignment = 256;

constexpr std::uint64_t align(std::uint64_t bytes) noexcept {
  return (bytes + alignment - 1) / alignment * alignment;
}

inline std::byte* room_in(std::vector<std::byte>& memory, std::uint64_t bytes) {
  const std::uint64_t room = bytes + alignment;
  if (memory.size() < room) memory.resize(room);
  return reinterpret_cast<std::byte*>(align(reinterpret_cast<std::uintptr_t>(memory.data())));
}

}  // namespace batch_filler

BATCHCAST_INLINE void BatchFiller::show(BatchRecord& record, const Run& run, bool written) {
  if (ring_.delivery() != nullptr) name_stream(record);
  const std::vector<FieldWindow>& shown = ring_.shown();
  std::uint64_t capacity = 0;
  std::uint64_t place = 0;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const FieldWindow& window = shown[i];
    if (window.capacity != capacity) {  // a division is a tenth of all that `next` does
      capacity = window.capacity;
      place = run.position % capacity;
    }
    record.data[i] = window.base + place * window.stride_bytes;
    record.strides[i] = window.stride_bytes;
  }
  if (written || ring_.has_gaps()) copy_some(record, run, written);
}

BATCHCAST_INLINE void BatchFiller::copy_some(BatchRecord& record, const Run& run, bool written) {
  std::vector<bool> wanted(ring_.shown().size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    wanted[i] =
        ring_.has_gap(i, run.position, run.size) || (written && !ring_.fields()[i].on_device);
  }
  if (std::find(wanted.begin(), wanted.end(), true) == wanted.end()) return;
  copy_fields(record, run, wanted);
}

BATCHCAST_INLINE void BatchFiller::copy(BatchRecord& record, const Run& run) {
  if (ring_.delivery() != nullptr) name_stream(record);
  copy_fields(record, run, {});
}

/// Copies the fields for which `wanted[field]`; all of them where it is empty.
BATCHCAST_INLINE void BatchFiller::copy_fields(BatchRecord& record, const Run& run,
                                               const std::vector<bool>& wanted) {
  const std::vector<FieldWindow>& windows = ring_.windows();
  const FieldTable& fields = ring_.fields();
  const auto takes = [&](std::size_t i) { return wanted.empty() || wanted[i]; };
  const auto bytes_of = [&](std::size_t i) {
    return batch_filler::align(windows[i].sample_bytes * run.size);
  };
  std::uint64_t on_host = 0;
  std::uint64_t on_device = 0;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    if (takes(i)) (fields[i].on_device ? on_device : on_host) += bytes_of(i);
  }
  std::byte* host_at = host_room(record, on_host);
  std::byte* device_at =
      on_device == 0 ? nullptr : ring_.delivery()->buffer(record.number, on_device);
  for (std::size_t i = 0; i < windows.size(); ++i) {
    if (!takes(i)) continue;
    std::byte*& at = fields[i].on_device ? device_at : host_at;
    record.data[i] = at;
    record.strides[i] = windows[i].sample_bytes;
    copy_field(at, i, run);
    at += bytes_of(i);
  }
  if (on_device == 0) return;
  record.copied = true;
  ring_.delivery()->order_copies(cuda_stream_);
}

/// A run with padding goes round its epoch's tail.
BATCHCAST_INLINE void BatchFiller::copy_field(std::byte* to, std::size_t field,
                                              const Run& run) const {
  const FieldWindow& window = ring_.windows()[field];
  std::uint64_t position = run.position;
  for (std::uint64_t left = run.size; left != 0;) {
    const std::uint64_t to_end = run.batch_start + run.batch_size - position;
    const std::uint64_t samples = run.padding == 0 ? left : std::min(left, to_end);
    if (ring_.fields()[field].on_device) {
      ring_.delivery()->copy_out(to, window, position, samples);
    } else {
      copy_from_ring(to, window, position, samples);
    }
    to += samples * window.sample_bytes;
    left -= samples;
    position = run.batch_start;
  }
}

/// Room for that many bytes of a record's copies in host memory.
BATCHCAST_INLINE std::byte* BatchFiller::host_room(BatchRecord& record, std::uint64_t bytes) const {
  if (ring_.pins_copies() && bytes != 0) {
    return ring_.delivery()->host_buffer(record.number, bytes);
  }
  return batch_filler::room_in(record.copy, bytes);
}

BATCHCAST_INLINE void BatchFiller::copy_to_host(BatchRecord& record, const BatchContents& from) {
  const FieldTable& fields = ring_.fields();
  const auto bytes_of = [&](std::size_t field) {
    return (from.size - 1) * from.strides[field] + fields[field].sample_bytes;
  };
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < fields.size(); ++i) total += batch_filler::align(bytes_of(i));
  std::byte* to = batch_filler::room_in(record.copy, total);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    record.data[i] = to;
    record.strides[i] = from.strides[i];
    if (fields[i].on_device) {
      ring_.delivery()->copy_to_host(to, from.data[i], bytes_of(i));
    } else {
      std::memcpy(to, from.data[i], bytes_of(i));
    }
    to += batch_filler::align(bytes_of(i));
  }
  if (ring_.on_device()) ring_.delivery()->wait_for_copies();
  record.streams.clear();
}

}  // namespace batchcast::inline v0_1::detail
