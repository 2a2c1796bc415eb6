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

BATCHCAST_INLINE void BatchFiller::choose_fields(BatchRecord& record, const Run& run) {
  if (!run.is_window()) return record.window.reset();
  if (window_ == nullptr || !window_->fits(run)) {
    window_ = std::make_shared<const WindowFields>(ring_.fields(), run);
  }
  record.window = window_;
}

BATCHCAST_INLINE void BatchFiller::show(BatchRecord& record, const Run& run, bool written) {
  if (ring_.delivery() != nullptr) name_stream(record);
  if (run.is_window()) return show_window(record, run, written);
  const std::vector<FieldWindow>& shown = ring_.shown();
  const bool has_axes = ring_.axis_count() != 0;
  std::uint64_t capacity = 0;
  std::uint64_t place = 0;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const FieldWindow& window = shown[i];
    if (const int axis = has_axes ? ring_.fields()[i].axis : -1; axis >= 0) {
      record.data[i] = window.at(record.rows[static_cast<std::size_t>(axis)].first);
      record.strides[i] = window.stride_bytes;
      continue;
    }
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
    const int axis = ring_.fields()[i].axis;
    const AxisRows* const rows = axis < 0 ? nullptr : &record.rows[static_cast<std::size_t>(axis)];
    const bool has_gap = rows == nullptr ? ring_.has_gap(i, run.position, run.size)
                                         : ring_.has_gap(i, rows->first, rows->rows);
    wanted[i] = has_gap || (written && !ring_.fields()[i].on_device);
  }
  if (std::find(wanted.begin(), wanted.end(), true) == wanted.end()) return;
  copy_fields(record, run, wanted);
}

BATCHCAST_INLINE void BatchFiller::copy(BatchRecord& record, const Run& run) {
  if (ring_.delivery() != nullptr) name_stream(record);
  if (run.is_window()) return copy_window(record, run);
  copy_fields(record, run, {});
}

// ---- a window's batch

BATCHCAST_INLINE void BatchFiller::show_window(BatchRecord& record, const Run& run, bool written) {
  const std::vector<std::size_t>& indices = record.window->indices();
  const AxisRows& rows = record.rows[run.rows_axis];
  bool is_copied = false;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const FieldWindow& window = ring_.shown()[indices[i]];
    const bool is_id = i + 1 == indices.size();
    record.data[i] = window.at(is_id ? run.position : rows.first);
    record.strides[i] = is_id ? window.stride_bytes : window.stride_bytes * run.window_rows;
    is_copied = is_copied ||
                (ring_.has_gaps() && (is_id ? ring_.has_gap(indices[i], run.position, run.size)
                                            : ring_.has_gap(indices[i], rows.first, rows.rows)));
  }
  if (written || is_copied) copy_window(record, run);
}

/// All of its fields. Runs overlap in the copy as they do in the ring.
BATCHCAST_INLINE void BatchFiller::copy_window(BatchRecord& record, const Run& run) {
  const std::vector<std::size_t>& indices = record.window->indices();
  const AxisRows& rows = record.rows[run.rows_axis];
  const std::size_t samples = rows.offsets.size() - 1;
  const auto bytes_of = [&](std::size_t i) {
    const bool is_id = i + 1 == indices.size();
    return batch_filler::align(ring_.windows()[indices[i]].sample_bytes *
                               (is_id ? samples : rows.rows));
  };
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < indices.size(); ++i) bytes += bytes_of(i);
  std::byte* at = host_room(record, bytes);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const FieldWindow& window = ring_.windows()[indices[i]];
    const bool is_id = i + 1 == indices.size();
    record.data[i] = at;
    record.strides[i] = window.sample_bytes * (is_id ? 1 : run.window_rows);
    is_id ? copy_ids(at, run, samples) : copy_lap(at, window, run, rows);
    at += bytes_of(i);
  }
}

/// Rows with padding go round their epoch's tail.
BATCHCAST_INLINE void BatchFiller::copy_lap(std::byte* to, const FieldWindow& window,
                                            const Run& run, const AxisRows& rows) const {
  std::uint64_t row = rows.first;
  for (std::uint64_t left = rows.rows; left != 0;) {
    const std::uint64_t to_end = run.lap_row + run.lap_rows - row;
    const std::uint64_t count = run.lap_rows == 0 ? left : std::min(left, to_end);
    copy_from_ring(to, window, row, count);
    to += count * window.sample_bytes;
    left -= count;
    row = run.lap_row;
  }
}

/// The ids of its samples, which begin again with the rows.
BATCHCAST_INLINE void BatchFiller::copy_ids(std::byte* to, const Run& run,
                                            std::size_t samples) const {
  const FieldWindow& window = ring_.windows().back();
  std::uint64_t position = run.position;
  for (std::uint64_t left = samples; left != 0;) {
    const std::uint64_t to_end = run.batch_start + run.batch_size - position;
    const std::uint64_t count = run.padding == 0 ? left : std::min(left, to_end);
    copy_from_ring(to, window, position, count);
    to += count * window.sample_bytes;
    left -= count;
    position = run.batch_start;
  }
}

/// Copies the fields for which `wanted[field]`; all of them where it is empty.
BATCHCAST_INLINE void BatchFiller::copy_fields(BatchRecord& record, const Run& run,
                                               const std::vector<bool>& wanted) {
  const std::vector<FieldWindow>& windows = ring_.windows();
  const FieldTable& fields = ring_.fields();
  const auto takes = [&](std::size_t i) { return wanted.empty() || wanted[i]; };
  const auto bytes_of = [&](std::size_t i) {
    const int axis = fields[i].axis;
    return batch_filler::align(
        windows[i].sample_bytes *
        (axis < 0 ? run.size : record.rows[static_cast<std::size_t>(axis)].rows));
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
    if (const int axis = fields[i].axis; axis < 0) {
      copy_field(at, i, run);
    } else {
      copy_rows(at, i, run, record.rows[static_cast<std::size_t>(axis)]);
    }
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

/// The same of a field on an axis.
BATCHCAST_INLINE void BatchFiller::copy_rows(std::byte* to, std::size_t field, const Run& run,
                                             const AxisRows& rows) const {
  const FieldWindow& window = ring_.windows()[field];
  std::uint64_t done = 0;  // samples
  std::uint64_t first = rows.first;
  std::uint64_t samples = run.size;
  if (run.padding != 0)
    samples = std::min(samples, run.batch_start + run.batch_size - run.position);
  while (done < run.size) {
    const auto count =
        static_cast<std::uint64_t>(rows.offsets[done + samples] - rows.offsets[done]);
    if (count != 0) copy_from_ring(to, window, first, count);
    to += count * window.sample_bytes;
    done += samples;
    first = rows.first_of_batch;
    samples = std::min(run.size - done, run.batch_size);
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
  const auto bytes_of = [&](std::size_t field) -> std::uint64_t {
    const int axis = fields[field].axis;
    if (axis >= 0) return from.axes[axis].rows * fields[field].sample_bytes;
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
