// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/batch.hpp>
#include <batchcast/consumer/attached_process.hpp>
#include <batchcast/consumer/batch_filler.hpp>
#include <batchcast/consumer/batch_record.hpp>
#include <batchcast/consumer/mapped_ring.hpp>
#include <batchcast/consumer/membership.hpp>
#include <batchcast/ring/reader.hpp>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// The records of a consumer's batches: hands them out and takes them back with their leases. After
/// the first few batches it allocates none. What is public may be called from any thread.
class BatchPool {
 public:
  /// What it is given must outlive it.
  BatchPool(MappedRing& ring, RingReader& reader, Membership& membership, BatchFiller& filler,
            const AttachedProcess& process)
      : ring_(ring), reader_(reader), membership_(membership), filler_(filler), process_(process) {}

  /// A record on its way to be a batch. It comes back unless it is handed out.
  struct Recycle {
    void operator()(BatchRecord* record) const noexcept;
  };
  using FreshRecord = std::unique_ptr<BatchRecord, Recycle>;

  /// A record for that run. `owner` is this pool, with all that it needs. `may_be_shown`: the batch
  /// may show the ring in place; else it is a copy in any case.
  [[nodiscard]] FreshRecord take(std::shared_ptr<BatchPool> owner, const Run& run,
                                 bool may_be_shown);
  /// The record is no batch in place after all, or not any more. After a write of the trainer the
  /// last one in place gives the memory of private chunks back.
  void leave_place(BatchRecord& record) noexcept;
  /// Gives that lease back as soon as the copies that the record is made of have read the ring,
  /// however long its batch is held.
  void give_back_when_copied(BatchRecord& record, std::uint64_t lease) noexcept;
  /// The first handle of the batch.
  [[nodiscard]] Batch hand_out(FreshRecord record);

  // For batches that the trainer keeps. The consuming thread makes these calls.

  /// Another handle of the oldest batch that shows the ring in place; empty if there is none.
  [[nodiscard]] Batch hold_oldest();
  /// What the batches in place show of a mapping.
  void add_shown(std::size_t mapping, std::vector<AddressRange>& to);
  /// The batch, which is held, now shows memory that belongs to the trainer: its lease goes back.
  /// `sound`: it shows what was published.
  void make_own(BatchRecord& record, std::uint64_t bytes, bool sound) noexcept;
  /// That batch is a copy since its place is private.
  void count_kept(BatchRecord& record, std::uint64_t bytes) noexcept;
  struct Kept {
    std::uint64_t batches = 0;
    std::uint64_t bytes = 0;   ///< in place
    std::uint64_t copies = 0;  ///< beside that, among `batches`
    std::uint64_t copied_bytes = 0;
    Run oldest;
  };
  [[nodiscard]] Kept kept() noexcept;
  /// Shows the ring again in place of private memory that no batch shows any more.
  void show_ring_again();
  /// Chunks may have become private that no batch is kept in: `show_ring_again` is to look.
  void look_for_private() noexcept;
  /// Whether batches are out.
  [[nodiscard]] bool has_batches_out() noexcept;

  // For batches that are handed out.
  [[nodiscard]] bool in_forked_child() const noexcept { return process_.in_forked_child(); }
  /// Throws Forked, Revoked.
  void check() const;
  void check(const BatchRecord& record) const;
  /// A CUDA stream reads that batch.
  void use(BatchRecord& record, void* cuda_stream);
  /// The same samples in separate host memory.
  [[nodiscard]] Batch copy_to_host(const BatchRecord& record, const BatchContents& contents);
  /// The last handle is gone. The lease is given back once the CUDA streams that read the batch
  /// have passed it: at once where there are none.
  void take_back(BatchRecord& record) noexcept;

  /// At most this many copied batches may wait for CUDA streams: each has separate memory.
  static constexpr std::size_t waiting_copies_max = 4;
  /// Whether batches wait for CUDA streams, or leases for copies on a GPU.
  [[nodiscard]] bool waits_for_streams() const noexcept { return waiting_ != 0; }
  /// Waits until no more than `most` of these wait. Takes its time off the time-out; false at that.
  [[nodiscard]] bool wait_for_streams(std::size_t most, int& timeout_ms);

 private:
  void add_record();                                         // with the mutex
  void leave_place_locked(BatchRecord& record) noexcept;     // with the mutex
  void give_pages_back(const BatchRecord& record) noexcept;  // with the mutex
  void add_shown_locked(std::size_t mapping, std::vector<AddressRange>& to) const;
  void recycle(BatchRecord& record) noexcept;
  void make_idle(BatchRecord& record) noexcept;
  [[nodiscard]] Batch hand_out(FreshRecord record, const FieldTable& fields, Placement placement);
  static void streams_passed(void* record) noexcept;
  static void copies_made(void* record) noexcept;
  void end_use(BatchRecord& record) noexcept;

  MappedRing& ring_;
  RingReader& reader_;
  Membership& membership_;
  BatchFiller& filler_;
  const AttachedProcess& process_;

  std::mutex mutex_;  ///< of everything below
  std::vector<std::unique_ptr<BatchRecord>> records_;
  std::vector<BatchRecord*> idle_;
  std::uint64_t in_place_ = 0;  ///< batches that show the ring's memory and could become private
  bool memory_given_back_ = false;
  std::vector<AddressRange> shown_;      ///< of one mapping at a time; its room
  bool left_private_ = false;            ///< a batch has left a chunk that is private
  std::atomic<std::size_t> waiting_{0};  ///< read without the mutex too
  std::condition_variable passed_;
};

}  // namespace batchcast::inline v0_1::detail
