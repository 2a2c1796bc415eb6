// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/consumer/attached_process.hpp>
#include <batchcast/consumer/batch_filler.hpp>
#include <batchcast/consumer/batch_pool.hpp>
#include <batchcast/consumer/delivery.hpp>
#include <batchcast/consumer/kept_batches.hpp>
#include <batchcast/consumer/mapped_ring.hpp>
#include <batchcast/consumer/member_lock.hpp>
#include <batchcast/consumer/membership.hpp>
#include <batchcast/consumer/observer.hpp>
#include <batchcast/consumer/pending.hpp>
#include <batchcast/consumer/producer_link.hpp>
#include <batchcast/consumer/stream_joiner.hpp>
#include <batchcast/consumer/wait_report.hpp>
#include <batchcast/consumer_options.hpp>
#include <batchcast/core/grid.hpp>
#include <batchcast/core/inline.hpp>
#include <batchcast/core/wait_watch.hpp>
#include <batchcast/ring/rank_host.hpp>
#include <batchcast/ring/rank_reader.hpp>
#include <batchcast/ring/reader.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace batchcast::inline v0_1::detail {

/// The inside of a Consumer: it joins a stream and gives the trainer its batches, until the stream
/// is over or the consumer leaves. It lives until the Consumer and the last of its batches are gone
/// and every CUDA stream has passed these. The consuming thread makes all calls.
class ConsumerCore final : private ReaderHost,
                           private RankHost,
                           public std::enable_shared_from_this<ConsumerCore> {
 public:
  /// Waits for the stream and joins it. Throws what Consumer's constructor throws, except for a
  /// start. `group_deadline`: how long a rank waits for its group, once the stream is there.
  [[nodiscard]] static std::shared_ptr<ConsumerCore> attach(const ConsumerOptions& options,
                                                            const Deadline& group_deadline);
  [[nodiscard]] static std::shared_ptr<ConsumerCore> attach(const ConsumerOptions& options) {
    return attach(options, Deadline(options.connect_timeout_ms));
  }
  // Inline where the definitions are: else every file that includes them would emit the class.
  BATCHCAST_INLINE ~ConsumerCore() override;

  using Room = RingReader::Room;
  [[nodiscard]] NextBatch next(std::uint64_t batch_size, int timeout_ms, Room room = Room::make);
  [[nodiscard]] std::optional<Batch> peek(std::uint64_t batch_size, int timeout_ms);
  [[nodiscard]] bool has_next_epoch();
  [[nodiscard]] std::optional<Batch> newest(std::uint64_t samples_max);
  void leave_epoch() noexcept;
  [[nodiscard]] bool move_to(RowPlace cursor);
  [[nodiscard]] std::optional<std::uint64_t> batches_of_epoch(std::uint64_t batch_size);
  void check() const { pool_.check(); }
  /// Throws Forked in a forked child.
  void check_process() const { process_.check(); }
  /// The place after the last sample, or with a window the last row, that was handed out.
  [[nodiscard]] RowPlace cursor() const noexcept {
    return pending_.run() != nullptr ? pending_.run()->begin() : reader_.place();
  }
  [[nodiscard]] const std::optional<Grid>& grid() const noexcept { return ring_.grid(); }
  void set_batch_size(std::uint64_t batch_size);
  void set_budget(const Budget& budget, Oversize oversize);
  void set_window(const Window& window);
  /// Throw what the two above throw for these, beside that window or budget. Change nothing.
  void check_budget(const Budget& budget, const Window& beside) const;
  void check_window(const Window& window, const Budget& beside) const;
  [[nodiscard]] const Window& window() const noexcept { return window_; }
  [[nodiscard]] const Budget& budget() const noexcept { return budget_; }
  [[nodiscard]] Oversize oversize() const noexcept { return oversize_; }
  void set_cuda_stream(void* stream) noexcept { filler_.set_cuda_stream(stream); }
  /// The Consumer is gone: what the trainer keeps becomes its own. Leaves as soon as no lease is
  /// held. Nothing in a forked child.
  void abandon() noexcept;

  // ---- when the producer dies: see CoreHandover

  /// That it rides, as the producer's life file says.
  [[nodiscard]] MemberLock& member_lock() noexcept { return member_lock_; }

  [[nodiscard]] const ConsumerOptions& options() const noexcept { return options_; }
  [[nodiscard]] const RingReader& reader() const noexcept { return reader_; }
  [[nodiscard]] ReaderStatus reader_status() const noexcept {
    return rank_ ? rank_->status() : reader_.status();
  }
  [[nodiscard]] BoardView board() const noexcept { return ring_.board(); }
  [[nodiscard]] const Schema& schema() const noexcept { return ring_.schema(); }
  [[nodiscard]] Placement placement() const noexcept { return options_.placement; }
  [[nodiscard]] const Group& group() const noexcept { return options_.group; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const std::string& notes() const noexcept { return notes_; }
  [[nodiscard]] double attach_seconds() const noexcept { return attach_seconds_; }

 private:
  friend struct CoreHandover;

  ConsumerCore(const ConsumerOptions& options, std::unique_ptr<Delivery> delivery, Joined joined,
               std::uint64_t started_ns);
  static void destroy(ConsumerCore* core) noexcept;

  [[nodiscard]] bool wait_for_streams(int& timeout_ms);
  [[nodiscard]] Next next_run(std::uint64_t batch_size, int timeout_ms, Run& run, Room room);
  [[nodiscard]] Membership::Loop begin_loop(int& timeout_ms, Membership::For reason);
  [[nodiscard]] std::optional<Batch> look_ahead(std::uint64_t batch_size, int timeout_ms);
  [[nodiscard]] bool fill(BatchRecord& record, const Run& run);
  [[nodiscard]] bool are_rows_sound(const BatchRecord& record, const Run& run) const;
  [[nodiscard]] bool fill_with_copies(BatchRecord& record, const Run& run);
  void note_first_batch(const Run& run);
  void tell_first_write(const Run& run);
  [[nodiscard]] bool tell_untold(int timeout_ms) noexcept;
  void give_pending_back() noexcept;
  void check_takes_part() const;
  void check_batch_size(std::uint64_t batch_size) const;
  [[nodiscard]] RowWindow rows_of(const Window& window, const Budget& beside) const;
  [[nodiscard]] RowBudget rows_of(const Budget& budget, const Window& beside) const;
  void take_budget(const Budget& budget, Oversize oversize);
  void take_window(const Window& window);
  [[nodiscard]] std::uint64_t most_samples(std::uint64_t batch_size) const noexcept;
  [[nodiscard]] std::shared_ptr<BatchPool> pool() { return {shared_from_this(), &pool_}; }

  // What the reader and the rank ask.
  [[nodiscard]] BATCHCAST_INLINE bool producer_is_dead() noexcept override;
  BATCHCAST_INLINE void while_waiting() override;
  [[nodiscard]] BATCHCAST_INLINE std::string why_revoked() override;
  [[nodiscard]] std::string why_evicted() override { return link_.why_revoked(); }
  [[nodiscard]] bool group_broke() noexcept override { return link_.group_broke(); }
  BATCHCAST_INLINE void tell_epoch_end(const RankEpoch& epoch) noexcept override;
  [[nodiscard]] bool is_hung_up() noexcept override { return link_.is_hung_up(); }
  void give_up_place() noexcept override { membership_.leave(); }
  [[nodiscard]] bool leases_come_back() noexcept override { return pool_.waits_for_streams(); }
  [[nodiscard]] bool give_oldest_back() noexcept override { return kept_.make_oldest_own(); }

  const ConsumerOptions options_;  ///< with the GPU's number where `placement` was "cuda"
  WaitWatch waits_{options_.while_waiting};
  const std::uint64_t started_ns_;
  const std::string name_;
  AttachedProcess process_;
  MemberLock member_lock_;
  ProducerLink link_;
  MappedRing ring_;
  RingReader reader_;
  std::optional<RankReader> rank_;  ///< of a group
  Membership membership_;
  BatchFiller filler_;
  BatchPool pool_;
  KeptBatches kept_;
  Observer observer_;
  WaitReport wait_report_;
  std::string notes_;
  double attach_seconds_ = 0;  ///< until the first batch
  Pending pending_;
  Budget budget_;
  Oversize oversize_ = Oversize::error;
  Window window_;
};

}  // namespace batchcast::inline v0_1::detail
