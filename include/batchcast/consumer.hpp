// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/language.hpp>

#include <batchcast/batch.hpp>
#include <batchcast/consumer_options.hpp>
#include <batchcast/core/group.hpp>
#include <batchcast/core/placement.hpp>
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
};

/// One trainer's part in a stream. Every call may throw StreamFinished, Stopped, StreamFailed,
/// ProducerGone (all of kind StreamOver), Revoked, GroupBroken, RingTooSmall, Missed,
/// ReceiptMismatch, Forked.
///
/// Use it from one thread at a time; several consumers in a process are fine. After fork() the
/// child cannot use it, and its destructor does nothing there. One that was moved from may only be
/// destroyed or assigned to: other calls end the process with a message.
///
/// Batches may outlive it, and hold nobody up. What of them is still held becomes the process's
/// own, at the same addresses: all, when the consumer goes, leaves an epoch, or ends one with
/// `let_go`; the oldest, one by one, where `next` or `has_next_epoch` has no room for more. That
/// copies 1 to 2 MB in a millisecond, on the calling thread. At most the ring's bytes are kept, and
/// none above half of the memory that is left. Beyond that, on a GPU, page-locked, with huge pages
/// above 2 MiB and without `explain_faults` a batch holds its place, and `next` throws
/// RingTooSmall. A
/// child that was forked before goes on showing the ring, which is written over then.
///
/// A write into a batch, whatever wrote it, stays with this process: its pages become private and
/// show the write for as long as the batch lives. The next call of `next` warns once, and from then
/// on batches are copies, as with access = private. `Batch::keeps_writes` says where that cannot be
/// done; there a write ends the process with a message. System calls that write into a batch (read)
/// fail with EFAULT before.
class Consumer {
 public:
  /// Waits for the producer if need be, or starts it, and attaches. Throws StreamNotFound, Refused,
  /// RingTooSmall, InvalidArgument, StreamFinished and the like; with `start`, StartFailed and
  /// RecipeMismatch; for a GPU, GpuUnavailable, GpuError and Forked.
  explicit Consumer(ConsumerOptions options);
  ~Consumer();
  Consumer(Consumer&&) noexcept;
  Consumer& operator=(Consumer&&) noexcept;

  class Iterator;
  /// One epoch: `for (const Batch& batch : consumer)`. The loop after it is the next epoch. Leaving
  /// a loop early lets go of the rest of its epoch. In a group, an exception that leaves a loop
  /// lets go of nothing: a consumer that is destroyed with it breaks the group, and another loop
  /// goes on with the batch after the one that it had.
  [[nodiscard]] Iterator begin();
  [[nodiscard]] std::default_sentinel_t end() const noexcept { return {}; }

  /// The next batch; nothing at the end of an epoch, after which the next call begins another. A
  /// private copy that failed is tried again by the next call, with the same samples.
  [[nodiscard]] std::optional<Batch> next();
  /// The same, waiting at most that long. Copying what is kept (see Consumer) takes its own time.
  [[nodiscard]] NextBatch try_next(int timeout_ms);
  /// The same, but only looks: it neither waits nor makes room by copying what is kept.
  [[nodiscard]] NextBatch poll();
  /// A copy of the next batch; where this epoch has no more, of the next epoch's first one. Nothing
  /// at the time-out. It holds no lease, and the consumer stays as it is: cursor, epoch, stats, and
  /// the end of an epoch that `next` has not returned yet. Between its loops, a consumer with
  /// between_epochs = let_go joins the stream for the duration of the call, and its cursor is there
  /// afterwards.
  [[nodiscard]] std::optional<Batch> peek(int timeout_ms = -1);
  /// Whether another epoch follows; waits until that is known.
  [[nodiscard]] bool has_next_epoch();
  /// Goes to another position, as with join = at, without leaving the stream: it does not end in
  /// between. What was under way is over. False where that cannot be had, and attaching anew may
  /// do: batches are held or on a GPU, it is a rank or lets go between epochs, the stream is over.
  /// Throws Refused and StreamFinished where there is no such place; then, and with false, it stays
  /// where it is. Where `while_waiting` throws, it is only to be destroyed.
  [[nodiscard]] bool move_to(std::uint64_t cursor);
  /// A copy of the newest samples that the ring holds, at most so many, of the epoch that most of
  /// them belong to; nothing while there are none. Whether it observes or takes part, its place
  /// stays what it is.
  [[nodiscard]] std::optional<Batch> newest(std::uint64_t samples_max);
  /// Lets go of what is left of the current epoch, also of a run that could not be copied for want
  /// of memory, and of a `let_go` loop that has not begun within a time-out.
  void leave_epoch() noexcept;

  /// The CUDA stream (CUstream, cudaStream_t) on which batches are used from the next one on; the
  /// legacy default stream at first. Without meaning unless batches are on a GPU or pinned. It has
  /// to exist until the last of these batches is dropped.
  void set_cuda_stream(void* stream) noexcept;
  /// From the next batch on. Throws InvalidArgument in a group, whose ranks have one size.
  void set_batch_size(std::uint64_t batch_size);
  [[nodiscard]] std::uint64_t batch_size() const noexcept { return batch_size_; }

  /// Position after the last sample delivered: what to save in a checkpoint, for join = at. Of a
  /// group, after the last sample delivered to any rank: the same on each of them, and good for a
  /// group of another size.
  [[nodiscard]] std::uint64_t cursor() const noexcept;
  /// The epoch that the next batch belongs to.
  [[nodiscard]] std::uint64_t epoch() const noexcept;
  /// Throws Revoked if the producer evicted this consumer, GroupBroken if that was for its group.
  void check() const;

  [[nodiscard]] const std::string& name() const noexcept;
  [[nodiscard]] Placement placement() const noexcept;
  /// The one that it is a rank of, by its numbers where "auto" was asked for; world 0 without one.
  [[nodiscard]] const Group& group() const noexcept;
  [[nodiscard]] const Schema& schema() const noexcept;
  /// What the producer put on the board as its recipe; empty without one.
  [[nodiscard]] std::string recipe_json() const;
  /// Whether that recipe determines every byte of the samples.
  [[nodiscard]] bool pure() const noexcept;
  /// 32 hexadecimal digits that a pure stream has in common only with those that have the same
  /// sample at each position; empty without one.
  [[nodiscard]] std::string identity() const;
  /// 32 hexadecimal digits that each producer draws anew, for each of its rings.
  [[nodiscard]] std::string incarnation() const;
  /// N, or 0 where it is not known beforehand.
  [[nodiscard]] std::uint64_t samples_per_epoch() const noexcept;
  /// Samples that the ring spans: no batch can be larger.
  [[nodiscard]] std::uint64_t capacity() const noexcept;
  /// What the producer told on joining (where it begins, how long until then).
  [[nodiscard]] const std::string& notes() const noexcept;
  [[nodiscard]] ConsumerStats stats() const noexcept;

 private:
  [[nodiscard]] detail::ConsumerCore& core() const noexcept;

  std::shared_ptr<detail::ConsumerCore> core_;  ///< null once it was moved from
  std::uint64_t batch_size_;
};

/// Owns the current batch and lets go of it before the next one is fetched.
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
    // To the other ranks of a group, an epoch left here would look like one that is shorter.
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
    // What `next` throws ends the loop but leaves nothing: the cursor stays where a checkpoint
    // needs it.
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
#else
#include <batchcast/trainer/definitions.hpp>
#endif
