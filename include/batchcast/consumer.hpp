// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/language.hpp>

#include <batchcast/batch.hpp>
#include <batchcast/consumer_options.hpp>
#include <batchcast/core/group.hpp>
#include <batchcast/core/placement.hpp>
#include <batchcast/core/row_place.hpp>
#include <batchcast/core/schema.hpp>

#include <cstdint>
#include <exception>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace batchcast::inline v0_1 {
namespace detail {
class ConsumerCore;
class Rider;
}

struct ConsumerStats {
  std::uint64_t samples = 0;
  std::uint64_t batches = 0;
  std::uint64_t skipped = 0;  ///< lost to the producer at `free` pace
  std::uint64_t waits = 0;
  double wait_seconds = 0;
  double attach_seconds = 0;  ///< from the call to the first batch, without a start
  std::uint64_t late_wakeups = 0;
  std::uint64_t epochs_matched = 0;  ///< whole epochs whose receipt was the producer's
  std::uint64_t epochs_mismatched = 0;
  std::uint64_t epochs_unknown = 0;  ///< epochs not delivered whole
  std::uint64_t leases_held = 0;
  std::uint64_t oversized = 0;  ///< samples with more rows than the budget
  /// With a window: rows that are in no run. An epoch's last ones may have been a run's extra rows.
  std::uint64_t dropped_rows = 0;
  /// At `lockstep` pace, on the axis of budget or window, else on the stream's first. Of a whole
  /// epoch these are all of its rows, or it is a ReceiptMismatch.
  RowCounts rows = {};
};

/// One trainer's part in a stream. Every call may throw StreamFinished, Stopped, StreamFailed,
/// ProducerGone (all of kind StreamOver), Revoked, GroupBroken, RingTooSmall, Missed,
/// ReceiptMismatch, Forked.
///
/// Use a consumer from one thread at a time; a process may have several. After fork() the child
/// cannot use it, and its destructor does nothing there. A consumer that was moved from may only be
/// destroyed or assigned to: other calls end the process with a message.
///
/// Batches may outlive the consumer, and keep no other consumer waiting. Batches that are still
/// held become private to the process, at the same addresses. All do when the consumer goes, leaves
/// an epoch, or ends one with `let_go`. The oldest do, one by one, where `next` or `has_next_epoch`
/// has no room for more. That copies 1 to 2 MB in a millisecond, on the calling thread. At most the
/// ring's bytes are kept, and none above half of the memory that is left. A batch keeps its place
/// in the ring beyond that, on a GPU, page-locked, with huge pages above 2 MiB, and without
/// `explain_faults`. Then `next` throws RingTooSmall. A child that was forked before still shows
/// the ring, which the producer then overwrites.
///
/// When the producer's process dies, the consumer of a pure stream whose epochs have one length
/// goes on with the next producer (`on_producer_gone`). It gets what was published, but no batch
/// that the death cut short. Then the call that needs a batch waits for the next producer, and the
/// consumer gets exactly its next sample from there. A batch size or budget that is set while it
/// drains counts from the next producer on. Batches that are held stay as they are.
///
/// A write into a batch stays with this process, no matter what code writes. Its pages become
/// private and show the write while the batch lives. The next call of `next` warns once. From then
/// on batches are copies, as with access = private. `Batch::keeps_writes` says where that cannot be
/// done; there a write ends the process with a message. System calls that write into a batch, such
/// as read, fail with EFAULT until then.
class Consumer {
 public:
  /// Waits for the producer if necessary, or starts it, and attaches. Throws StreamNotFound,
  /// Refused, RingTooSmall, InvalidArgument, StreamFinished and the like. With `start`, throws
  /// StartFailed and RecipeMismatch; for a GPU, GpuUnavailable, GpuError and Forked.
  explicit Consumer(ConsumerOptions options);
  ~Consumer();
  Consumer(Consumer&&) noexcept;
  Consumer& operator=(Consumer&&) noexcept;

  class Iterator;
  /// One epoch: `for (const Batch& batch : consumer)`. The next loop is the next epoch. Leaving a
  /// loop early skips the rest of its epoch. In a group, an exception that leaves a loop does not
  /// end the epoch for the other ranks. If it also destroys the consumer, the group is broken. If
  /// not, another loop continues after the batch that this one had.
  [[nodiscard]] Iterator begin();
  [[nodiscard]] std::default_sentinel_t end() const noexcept { return {}; }

  /// The next batch. Nothing at the end of an epoch; the call after that begins another epoch. If
  /// making a private copy failed, the next call tries again with the same samples.
  [[nodiscard]] std::optional<Batch> next();
  /// Like `next`, but waits at most that long. Copying batches that are kept (see Consumer) takes
  /// its time besides.
  [[nodiscard]] NextBatch try_next(int timeout_ms);
  /// Like `next`, but only looks: it neither waits nor makes room by copying batches that are kept.
  [[nodiscard]] NextBatch poll();
  /// A copy of the next batch or, where this epoch has no more, of the next epoch's first one.
  /// Nothing at the time-out. With a budget it passes samples that `oversize = drop` leaves out,
  /// once the epoch is begun: else they would fill the ring. The copy holds no lease. The
  /// consumer's cursor, epoch and stats stay as they are, and so does the end of an epoch that
  /// `next` has not returned yet. Throws InvalidArgument where an epoch has no batch at all.
  /// Throws RingTooSmall where the ring is full of samples in no batch, which `next` passes. A
  /// consumer with between_epochs = let_go joins the stream for the call if it is between its
  /// loops. Its cursor is there afterwards.
  [[nodiscard]] std::optional<Batch> peek(int timeout_ms = -1);
  /// Whether another epoch follows. Waits until that is known.
  [[nodiscard]] bool has_next_epoch();
  /// Moves to another place, as with join = at, without leaving the stream in between. What was
  /// under way is over. Throws Refused and StreamFinished where there is no such place. Returns
  /// false where it cannot move, and attaching again may do. That is while batches are held, on a
  /// GPU, in a group, with `let_go`, and once the stream is over. In all these cases it stays where
  /// it is. Where `while_waiting` throws, the consumer may only be destroyed.
  [[nodiscard]] bool move_to(RowPlace cursor);
  [[nodiscard]] bool move_to(std::uint64_t cursor) { return move_to(RowPlace{cursor, 0}); }
  /// How many batches the whole epoch has that the next batch belongs to; of a rank, its batches.
  /// With a budget or a window the producer counts them. Nothing where it does not know: epochs of
  /// unknown length, or samples whose lengths making tells. `while_waiting` is not called.
  [[nodiscard]] std::optional<std::uint64_t> batches_of_epoch();
  /// A copy of the newest samples that the ring holds, at most `samples_max`, of the epoch that
  /// most of them belong to. Nothing while there are none. The consumer's place does not change.
  [[nodiscard]] std::optional<Batch> newest(std::uint64_t samples_max);
  /// Skips the rest of the current epoch, including a batch whose copy failed. A `let_go` loop that
  /// has not begun within a time-out is given up.
  void leave_epoch() noexcept;

  /// The CUDA stream (CUstream, cudaStream_t) on which batches are used from the next one on; at
  /// first the legacy default stream. It has no effect unless batches are on a GPU or pinned. It
  /// has to exist until the last of these batches is dropped.
  void set_cuda_stream(void* stream) noexcept;
  /// From the next batch on. Throws InvalidArgument in a group, whose ranks have one size.
  void set_batch_size(std::uint64_t batch_size);
  [[nodiscard]] std::uint64_t batch_size() const noexcept { return batch_size_; }
  /// From the next batch on; rows 0: batches of `batch_size` samples again. Throws InvalidArgument
  /// in a group and for a wrong axis, RingTooSmall.
  void set_budget(const Budget& budget, Oversize oversize);
  /// With the same `oversize` as before.
  void set_budget(const Budget& budget);
  [[nodiscard]] Budget budget() const;
  /// From the next batch on, which begins where the last one ended; rows 0: batches of samples
  /// again, from the next sample on. Until then `batch_size` has no effect. Throws InvalidArgument
  /// in a group, for a wrong axis and beside a budget, RingTooSmall.
  void set_window(const Window& window);
  [[nodiscard]] Window window() const;

  /// The position after the last sample delivered: save it in a checkpoint, for join = at. In a
  /// group it is the position after the last sample delivered to any rank. It is the same on each
  /// rank, and a group of another size can continue from it.
  [[nodiscard]] std::uint64_t cursor() const noexcept;
  /// The cursor of a position at which a batch begins (Batch::position; in a group that of rank 0).
  /// They differ where a stream has what the ranks of one node get (`serve --shard blocks`).
  /// Cursors count the samples of all nodes, and mean the same on any number of them.
  [[nodiscard]] std::uint64_t cursor_of(std::uint64_t position) const noexcept;
  /// With a window: inside the sample at `cursor()`, the row after the last one delivered. Save it
  /// with the cursor. 0 where a sample begins.
  [[nodiscard]] std::uint64_t cursor_row() const noexcept;
  /// The epoch that the next batch belongs to.
  [[nodiscard]] std::uint64_t epoch() const noexcept;
  /// Throws Revoked if the producer evicted this consumer, GroupBroken if its group broke.
  void check() const;

  [[nodiscard]] const std::string& name() const noexcept;
  [[nodiscard]] Placement placement() const noexcept;
  /// The group that it is a rank of, with the numbers found where "auto" was asked for; world 0
  /// without a group.
  [[nodiscard]] const Group& group() const noexcept;
  [[nodiscard]] const Schema& schema() const noexcept;
  /// The recipe that the producer put on the board; empty without one.
  [[nodiscard]] std::string recipe_json() const;
  /// Whether that recipe determines every byte of the samples.
  [[nodiscard]] bool pure() const noexcept;
  /// 32 hexadecimal digits. Two pure streams have the same digits only if they have the same sample
  /// at each position, or at each cursor. Empty for a stream that is not pure.
  [[nodiscard]] std::string identity() const;
  /// 32 hexadecimal digits that each producer draws for each of its rings.
  [[nodiscard]] std::string incarnation() const;
  /// The dataset's N, or 0 where it is not known beforehand. Of a shard, or the ranks of one node,
  /// their samples.
  [[nodiscard]] std::uint64_t samples_per_epoch() const noexcept;
  /// The same of all nodes, where the stream has the ranks of one: so far are the cursors apart of
  /// two epochs' beginnings.
  [[nodiscard]] std::uint64_t cursors_per_epoch() const noexcept;
  /// Samples that the ring spans: no batch can be larger.
  [[nodiscard]] std::uint64_t capacity() const noexcept;
  /// What the producer said on joining (where it begins, how long until then).
  [[nodiscard]] const std::string& notes() const noexcept;
  [[nodiscard]] ConsumerStats stats() const noexcept;

 private:
  [[nodiscard]] detail::ConsumerCore& core() const noexcept;

  [[nodiscard]] detail::Rider& rider() const noexcept;

  std::unique_ptr<detail::Rider> rider_;  ///< null once it was moved from
  std::uint64_t batch_size_;
};

/// Owns the current batch and drops it before it fetches the next one.
class Consumer::Iterator {
 public:
  using value_type = Batch;
  using difference_type = std::ptrdiff_t;
  using reference = Batch&;
  using pointer = Batch*;
  using iterator_category = std::input_iterator_tag;

  explicit Iterator(Consumer& consumer) : consumer_(&consumer) { fetch(); }
  Iterator(Iterator&& other) noexcept
      : consumer_(std::exchange(other.consumer_, nullptr)),
        batch_(std::move(other.batch_)),
        exceptions_(other.exceptions_) {}
  Iterator& operator=(Iterator&&) = delete;
  ~Iterator() {
    batch_ = Batch();
    if (consumer_ == nullptr) return;
    // The other ranks of a group would take an epoch left here for a shorter one.
    const bool by_exception = std::uncaught_exceptions() > exceptions_;
    if (by_exception && consumer_->group().world != 0) return;
    consumer_->leave_epoch();
  }

  [[nodiscard]] Batch& operator*() noexcept { return batch_; }
  [[nodiscard]] Batch* operator->() noexcept { return &batch_; }
  Iterator& operator++() {
    batch_ = Batch();
    fetch();
    return *this;
  }
  void operator++(int) { ++*this; }
  [[nodiscard]] friend bool operator==(const Iterator& it, std::default_sentinel_t) noexcept {
    return it.consumer_ == nullptr;
  }

 private:
  void fetch() {
    // An exception of `next` does not end the epoch: a checkpoint needs the cursor there.
    Consumer* const consumer = std::exchange(consumer_, nullptr);
    if (auto batch = consumer->next()) {
      batch_ = std::move(*batch);
      consumer_ = consumer;
    }
  }

  Consumer* consumer_;  ///< null once the epoch is over, or `next` threw
  Batch batch_;
  int exceptions_ = std::uncaught_exceptions();  ///< where the loop began
};

inline Consumer::Iterator Consumer::begin() { return Iterator(*this); }

}  // namespace batchcast::inline v0_1

#ifdef BATCHCAST_COMPILED
#include <batchcast/start.hpp>  // with the installed command's place

namespace batchcast::inline v0_1::detail {
/// The library has GPUs and starting. This call comes before the first consumer of the file that
/// includes it, and makes the linker take that part of an archive.
bool library_brings() noexcept;
[[maybe_unused, gnu::visibility("hidden")]] inline const bool brought_by_library = library_brings();
}  // namespace batchcast::inline v0_1::detail
#else
#include <batchcast/trainer/definitions.hpp>
#endif
