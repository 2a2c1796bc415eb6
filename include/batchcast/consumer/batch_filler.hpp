// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/batch.hpp>
#include <batchcast/consumer/batch_record.hpp>
#include <batchcast/consumer/mapped_ring.hpp>
#include <batchcast/ring/reader.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// Fills a record with the samples of a run: with their places in the ring, or with copies. It does
/// not look whether they are good. Calls are the consuming thread's, but `copy_to_host`. The ring
/// must outlive it.
class BatchFiller {
 public:
  explicit BatchFiller(const MappedRing& ring) noexcept : ring_(ring) {}

  /// The CUDA stream on which batches are used from the next one on.
  void set_cuda_stream(void* stream) noexcept { cuda_stream_ = stream; }
  void follow(const BatchFiller& other) noexcept { cuda_stream_ = other.cuda_stream_; }

  /// Shows the ring in place. Copies only what has a gap there, and, where the trainer has
  /// `written` into the ring's memory, what is in host memory.
  void show(BatchRecord& record, const Run& run, bool written);
  /// Copies every field. On a GPU the copies are on their way: they are complete for the consumer's
  /// CUDA stream only.
  void copy(BatchRecord& record, const Run& run);
  /// From any thread: copies a batch, from any memory, to host memory that the record owns.
  void copy_to_host(BatchRecord& record, const BatchContents& from);
  /// Before any of these: what the batch has of the ring's fields.
  void choose_fields(BatchRecord& record, const Run& run);

 private:
  void copy_some(BatchRecord& record, const Run& run, bool written);
  void show_window(BatchRecord& record, const Run& run, bool written);
  void copy_window(BatchRecord& record, const Run& run);
  void copy_lap(std::byte* to, const FieldWindow& window, const Run& run,
                const AxisRows& rows) const;
  void copy_ids(std::byte* to, const Run& run, std::size_t samples) const;
  void copy_fields(BatchRecord& record, const Run& run, const std::vector<bool>& wanted);
  void copy_field(std::byte* to, std::size_t field, const Run& run) const;
  void copy_rows(std::byte* to, std::size_t field, const Run& run, const AxisRows& rows) const;
  [[nodiscard]] std::byte* host_room(BatchRecord& record, std::uint64_t bytes) const;
  void name_stream(BatchRecord& record) const { record.streams.assign(1, cuda_stream_); }

  const MappedRing& ring_;
  void* cuda_stream_ = nullptr;
  std::shared_ptr<const WindowFields> window_;  ///< of the last batch that had a window
};

}  // namespace batchcast::inline v0_1::detail
