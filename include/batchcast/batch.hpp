// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/language.hpp>
#include <batchcast/core/text.hpp>

#include <batchcast/core/field_table.hpp>
#include <batchcast/core/placement.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace batchcast::inline v0_1 {
namespace detail {
struct BatchRecord;
void retain(BatchRecord& record) noexcept;
void drop(BatchRecord& record) noexcept;
void check(const BatchRecord& record);
void use(BatchRecord& record, void* cuda_stream);

/// The rows of a batch on one axis.
struct AxisRows {
  std::uint64_t first = 0;  ///< in the ring
  std::uint64_t rows = 0;
  std::uint64_t first_of_batch = 0;   ///< where padding begins again
  std::vector<std::int64_t> offsets;  ///< of its samples, from 0, with the end
};
}  // namespace detail

/// What a batch shows. It is kept apart from ownership, so that looking costs nothing.
struct BatchContents {
  const FieldTable* fields = nullptr;
  std::byte* const* data = nullptr;        ///< of each field's first sample
  const std::uint64_t* strides = nullptr;  ///< of each field, in bytes
  const detail::AxisRows* axes = nullptr;  ///< of each axis
  std::uint64_t position = 0;
  std::uint64_t size = 0;
  std::uint64_t epoch = 0;
  std::uint64_t padding = 0;  ///< samples at its end that repeat others; with a window, rows
  int window_axis = -1;       ///< of a batch that a window cuts. `size` is that of its runs then,
  std::uint64_t samples = 0;  ///< and this the number of samples that its rows are of
  std::uint64_t row = 0;      ///< inside the first of them, where its rows begin
  bool writable = false;
  bool keeps_writes = false;
  Placement placement = {};  ///< of the fields that are `on_device`
};

/// Consecutive samples of one epoch, zero-copy unless the consumer copies. A batch holds a lease:
/// the producer does not overwrite its samples while any handle to them lives. `share` makes
/// another handle. Handles may be dropped in any order, on any thread, and after their Consumer is
/// gone. The one exception is an eviction: then `check`, `release`, and the consumer's next call
/// throw Revoked.
///
/// A batch that is kept while the ring has to move on becomes private to this process (see
/// Consumer). It shows the same bytes at the same addresses, without a lease. I/O that has pinned
/// its pages by itself (io_uring, RDMA, cudaHostRegister) would still read the ring: it has to end
/// before.
///
/// Move-only. Several threads may read the samples; only one thread at a time may use a handle. An
/// empty handle (moved from, or released) may only be destroyed or assigned to.
class Batch {
 public:
  Batch() noexcept = default;
  Batch(Batch&& other) noexcept
      : record_(std::exchange(other.record_, nullptr)), contents_(other.contents_) {}
  Batch& operator=(Batch&& other) noexcept {
    if (this != &other) {
      reset();
      record_ = std::exchange(other.record_, nullptr);
      contents_ = other.contents_;
    }
    return *this;
  }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;
  ~Batch() { reset(); }

  [[nodiscard]] explicit operator bool() const noexcept { return record_ != nullptr; }

  /// Another handle to the same samples.
  [[nodiscard]] Batch share() const noexcept {
    if (record_ != nullptr) detail::retain(*record_);
    return Batch(record_, contents_);
  }

  /// Number of samples; with a window, of runs.
  [[nodiscard]] std::size_t size() const noexcept { return contents_.size; }
  /// Of its first sample; with a window, of the one that its first row is of.
  [[nodiscard]] std::uint64_t position() const noexcept { return contents_.position; }
  [[nodiscard]] std::uint64_t epoch() const noexcept { return contents_.epoch; }
  /// With tail = pad: how many samples, or with a window how many rows, at its end repeat others of
  /// the epoch's tail.
  [[nodiscard]] std::size_t padding() const noexcept { return contents_.padding; }
  [[nodiscard]] const FieldTable& fields() const noexcept { return *contents_.fields; }

  /// Whether a window cuts it: rows of samples, without regard to where these begin. Its fields are
  /// those of the window's axis. `field` shows one run after the other, `[8, 2048]`; with `extra`
  /// rows runs overlap, so `span` throws there.
  [[nodiscard]] bool is_window() const noexcept { return contents_.window_axis >= 0; }
  /// With a window: where its samples begin among its rows, run after run, and the end. The rows
  /// that runs show besides are not counted. The first sample's may begin within it, at `row`, and
  /// the last one's may end there. `sample_ids` has the same samples. Empty without a window.
  [[nodiscard]] std::span<const std::int64_t> offsets() const noexcept {
    if (!is_window()) return {};
    return contents_.axes[contents_.window_axis].offsets;
  }
  /// With a window: the row of the sample at `position` that it begins with.
  [[nodiscard]] std::uint64_t row() const noexcept { return contents_.row; }

  /// Whether its memory is private to this consumer. It is with access = private, at `free` pace,
  /// and for batches after this process wrote into one that was not.
  [[nodiscard]] bool writable() const noexcept { return contents_.writable; }

  /// Whether a write into its fields in host memory stays with this process, no matter what code
  /// writes. It does where the batch is `writable`. It also does in the ring's memory where the
  /// first write makes a private copy of the pages that it hits (see Consumer). Elsewhere a write
  /// ends the process.
  [[nodiscard]] bool keeps_writes() const noexcept { return contents_.keeps_writes; }

  /// Where its fields are. On a GPU, `sample_id` and the `host_fields` stay in host memory.
  [[nodiscard]] Placement placement() const noexcept { return contents_.placement; }

  /// One field of all samples. Throws InvalidArgument for a wrong name or type.
  template <class T>
  [[nodiscard]] FieldView<const T> field(std::string_view name) const {
    return field<T>(contents_.fields->index_of(name));
  }
  template <class T>
  [[nodiscard]] FieldView<const T> field(std::size_t index) const {
    if ((*contents_.fields)[index].axis >= 0) contents_.fields->throw_on_axis(index);
    if ((*contents_.fields)[index].on_device) throw_on_device(index);
    return contents_.fields->view<const T>(index, contents_.data[index], extent(index),
                                           contents_.strides[index]);
  }

  /// A field on an axis, of which samples have different numbers of rows. Throws InvalidArgument
  /// for a wrong name or type, and for a field of one shape.
  template <class T>
  [[nodiscard]] RowsView<const T> rows(std::string_view name) const {
    return rows<T>(contents_.fields->index_of(name));
  }
  template <class T>
  [[nodiscard]] RowsView<const T> rows(std::size_t index) const {
    if ((*contents_.fields)[index].axis < 0) contents_.fields->throw_not_on_axis(index);
    return {all<T>(index), offsets_of(index)};
  }
  /// A field of either kind in host memory: all its rows, or its samples.
  template <class T>
  [[nodiscard]] FieldView<const T> all(std::size_t index) const {
    if ((*contents_.fields)[index].on_device) throw_on_device(index);
    return contents_.fields->view<const T>(index, contents_.data[index], extent(index),
                                           contents_.strides[index]);
  }
  /// How many rows a field on an axis has here; the number of samples, or of runs, of any other.
  [[nodiscard]] std::size_t extent(std::size_t index) const noexcept {
    const int axis = (*contents_.fields)[index].axis;
    if (is_window() && index == contents_.fields->sample_id_index()) return contents_.samples;
    return axis < 0 ? contents_.size : contents_.axes[axis].rows;
  }

  /// One field of a batch on a GPU. The view's `data()` is an address there, for kernels and copies
  /// on a stream that the batch knows (`use`). Throws InvalidArgument for a field in host memory.
  template <class T>
  [[nodiscard]] FieldView<const T> device_field(std::string_view name) const {
    return device_field<T>(contents_.fields->index_of(name));
  }
  template <class T>
  [[nodiscard]] FieldView<const T> device_field(std::size_t index) const {
    if (!(*contents_.fields)[index].on_device) throw_on_host(index);
    return contents_.fields->view<const T>(index, contents_.data[index], contents_.size,
                                           contents_.strides[index]);
  }

  /// Names a further CUDA stream (CUstream, cudaStream_t) that reads this batch. The samples are
  /// kept until that stream has passed the point at which the last handle was dropped. A private
  /// copy on a GPU is complete for work that is enqueued there after this call. The consumer's own
  /// stream (`Consumer::set_cuda_stream`) needs no naming. The call has no effect unless the batch
  /// is on a GPU or pinned. Any thread may make it while this handle lives. The stream has to exist
  /// until the last handle is dropped. The per-thread default stream means that of the thread which
  /// drops it. For a stream of another GPU or context, as pinned batches may have, the drop waits.
  /// Drop no handle in a CUDA host callback: a drop calls the driver.
  void use(void* cuda_stream) const { detail::use(*record_, cuda_stream); }

  /// A field of either kind, to write to. Both throw InvalidArgument unless it is `writable`.
  template <class T>
  [[nodiscard]] FieldView<T> writable_field(std::string_view name) const {
    const std::size_t index = contents_.fields->index_of(name);
    if ((*contents_.fields)[index].axis >= 0) contents_.fields->throw_on_axis(index);
    if ((*contents_.fields)[index].on_device) throw_on_device(index);
    return writable_view<T>(index);
  }
  template <class T>
  [[nodiscard]] FieldView<T> writable_device_field(std::string_view name) const {
    const std::size_t index = contents_.fields->index_of(name);
    if (!(*contents_.fields)[index].on_device) throw_on_host(index);
    return writable_view<T>(index);
  }

  /// A field on an axis, to write to. Throws InvalidArgument unless the batch is `writable`.
  template <class T>
  [[nodiscard]] RowsView<T> writable_rows(std::string_view name) const {
    const std::size_t index = contents_.fields->index_of(name);
    if ((*contents_.fields)[index].axis < 0) contents_.fields->throw_not_on_axis(index);
    if (!contents_.writable) throw_read_only();
    return {contents_.fields->view<T>(index, contents_.data[index], extent(index),
                                      contents_.strides[index]),
            offsets_of(index)};
  }

  /// The dataset's index of each sample.
  [[nodiscard]] std::span<const std::uint64_t> sample_ids() const noexcept {
    const std::size_t index = contents_.fields->sample_id_index();
    return {reinterpret_cast<const std::uint64_t*>(contents_.data[index]), extent(index)};
  }

  /// Throws Revoked if the producer evicted this consumer: the samples may have been overwritten.
  /// What a CUDA stream reads is sound if this does not throw after the stream has read it.
  void check() const { detail::check(*record_); }

  /// Releases this handle now, and throws Revoked like `check`.
  void release() {
    const Batch last(std::move(*this));
    last.check();
  }

 private:
  friend struct detail::BatchRecord;
  Batch(detail::BatchRecord* record, const BatchContents& contents) noexcept
      : record_(record), contents_(contents) {}

  void reset() noexcept {
    if (record_ != nullptr) detail::drop(*std::exchange(record_, nullptr));
  }
  [[nodiscard]] std::span<const std::int64_t> offsets_of(std::size_t index) const noexcept {
    return contents_.axes[(*contents_.fields)[index].axis].offsets;
  }
  template <class T>
  [[nodiscard]] FieldView<T> writable_view(std::size_t index) const {
    if (!contents_.writable) throw_read_only();
    return contents_.fields->view<T>(index, contents_.data[index], extent(index),
                                     contents_.strides[index]);
  }
  [[noreturn]] void throw_on_device(std::size_t index) const {
    throw InvalidArgument(
        text("batchcast: field `{}` of this batch is in the memory of a GPU, which the processor "
             "cannot read. Take its address there with device_field().",
             (*contents_.fields)[index].spec.name));
  }
  [[noreturn]] void throw_on_host(std::size_t index) const {
    throw InvalidArgument(
        text("batchcast: field `{}` of this batch is in host memory: look at it with field(). "
             "Attach with placement = \"cuda:0\" for batches on a GPU.",
             (*contents_.fields)[index].spec.name));
  }
  [[noreturn]] static void throw_read_only() {
    throw InvalidArgument(
        "batchcast: this batch shows the ring's own memory, which all trainers read. Copy what you "
        "want to change, or attach with access = private.");
  }

  detail::BatchRecord* record_ = nullptr;
  BatchContents contents_;
};

enum class Outcome { batch, end_of_epoch, timed_out };

struct NextBatch {
  Outcome outcome = Outcome::timed_out;
  Batch batch;
};

}  // namespace batchcast::inline v0_1

#ifndef BATCHCAST_COMPILED
#include <batchcast/consumer/definitions.hpp>
#endif
