// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/consumer/delivery.hpp>

#include <batchcast/consumer.hpp>
#include <batchcast/core/field_table.hpp>
#include <batchcast/core/inline.hpp>
#include <batchcast/join/directory.hpp>
#include <batchcast/join/door.hpp>
#include <batchcast/join/message.hpp>
#include <batchcast/ring/fault_message.hpp>
#include <batchcast/ring/fork_guard.hpp>
#include <batchcast/ring/memory.hpp>
#include <batchcast/ring/private_chunks.hpp>
#include <batchcast/ring/reader.hpp>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace batchcast::inline v0_1::detail {

class Attachment;

/// Copies begin at addresses that any vector instruction, and any kernel, is content with.
inline constexpr std::uint64_t copy_alignment = 256;
[[nodiscard]] constexpr std::uint64_t align_copy(std::uint64_t bytes) noexcept {
  return (bytes + copy_alignment - 1) / copy_alignment * copy_alignment;
}

/// One batch handed out, shared by its handles. Recycled: after the first few, none is allocated.
struct BatchRecord {
  std::atomic<std::uint32_t> references{0};
  std::shared_ptr<Attachment> owner;  ///< while it is out
  std::vector<std::byte*> data;       ///< of each field
  std::vector<std::uint64_t> strides;
  std::vector<std::byte> copy;  ///< where the consumer copies, in host memory of the usual kind
  std::size_t number = 0;       ///< of the attachment's: names its memory that the driver gave
  std::vector<void*> streams;   ///< that read it, the delivery stream first
  Run run;
  bool leased = false;
  /// The batch, and its copies on their way: with the attachment's mutex.
  std::uint32_t uses = 0;
  std::shared_ptr<Attachment> copier;  ///< while copies of ring memory are on their way
  std::uint64_t copied_lease = 0;      ///< which they read
  bool copied = false;                 ///< it shows what was copied on a GPU
  bool own = false;                    ///< all that it shows is a copy, the consumer's own
  bool in_place = false;               ///< of what can become private it shows the ring's

  [[nodiscard]] static Batch handle(BatchRecord& record, const BatchContents& contents) noexcept {
    return Batch(&record, contents);
  }
  [[nodiscard]] static BatchRecord& of(const Batch& batch) noexcept { return *batch.record_; }
  [[nodiscard]] static const BatchContents& contents(const Batch& batch) noexcept {
    return batch.contents_;
  }
};

/// What these options need of a GPU; null where they need nothing. Throws GpuUnavailable, GpuError,
/// InvalidArgument.
[[nodiscard]] std::unique_ptr<Delivery> delivery_for(const ConsumerOptions& options);

/// What a consumer has mapped and holds open, and its place at the producer. Lives until the
/// Consumer and the last of its batches are gone, and every stream has passed these. Calls are the
/// consuming thread's, except where they say otherwise.
class Attachment final : public ReaderHost, public std::enable_shared_from_this<Attachment> {
 public:
  /// Waits for the stream and joins it.
  [[nodiscard]] static std::shared_ptr<Attachment> attach(const ConsumerOptions& options);
  // Inline where the definitions are: else every file that includes them would emit the class.
  BATCHCAST_INLINE ~Attachment() override;

  [[nodiscard]] NextBatch next(std::uint64_t batch_size, int timeout_ms);
  [[nodiscard]] bool has_next_epoch();
  [[nodiscard]] std::optional<Batch> newest(std::uint64_t samples_max);
  void leave_epoch() noexcept;
  /// Position after the last sample that was handed out.
  [[nodiscard]] std::uint64_t cursor() const noexcept;
  void check() const;
  void check_batch_size(std::uint64_t batch_size) const;
  void set_batch_size(std::uint64_t batch_size) noexcept;
  /// The Consumer is gone: leave as soon as no lease is held.
  void abandon() noexcept;

  /// From any thread: the same samples in host memory of their own.
  [[nodiscard]] Batch copy_to_host(const BatchContents& contents);

  /// From any thread: the last handle of a batch is gone. Its samples are released once the streams
  /// that it was named for have passed it, in host memory that is not pinned at once.
  void take_back(BatchRecord& record) noexcept;
  /// Lets go of it on a thread that may wait for a GPU.
  static void end(Attachment* attachment) noexcept;
  /// From any thread: a CUDA stream reads that batch.
  void use(BatchRecord& record, void* cuda_stream);
  [[nodiscard]] bool in_forked_child() const noexcept { return fork_guard_.in_child(); }

  [[nodiscard]] const RingReader& reader() const noexcept { return *reader_; }
  [[nodiscard]] const std::string& name() const noexcept { return welcome_.name; }
  [[nodiscard]] const Schema& schema() const noexcept { return schema_; }
  [[nodiscard]] const std::string& notes() const noexcept { return notes_; }
  [[nodiscard]] BoardView board() const noexcept { return BoardView(board_->data()); }
  [[nodiscard]] Placement placement() const noexcept { return options_.placement; }
  void set_cuda_stream(void* stream) noexcept { cuda_stream_ = stream; }
  [[nodiscard]] double attach_seconds() const noexcept { return attach_seconds_; }

  [[nodiscard]] BATCHCAST_INLINE bool producer_is_dead() noexcept override;
  [[nodiscard]] BATCHCAST_INLINE std::string why_revoked() override;
  [[nodiscard]] bool leases_come_back() noexcept override { return pending_ != 0; }

 private:
  Attachment(const ConsumerOptions& options, std::uint64_t started_ns);
  /// What keeps a consumer out at one place where the stream may be.
  struct Obstacle {
    std::string text;
    std::string silent;  ///< the producer that holds the stream there and does not answer
  };
  [[nodiscard]] bool connect(const StreamPaths& place, Obstacle& obstacle);
  [[nodiscard]] int patience_ms() const noexcept;
  void adopt(Welcome welcome, std::vector<FileDescriptor> descriptors);
  void check_offer(std::size_t descriptors);
  void map_fields(std::vector<FileDescriptor>& descriptors);
  void map_on_host(std::size_t index, FileDescriptor descriptor);
  void map_on_device(std::size_t index, FileDescriptor descriptor);
  void pin_fields();
  /// Whether a write into its batches is to become private, if the system lets it.
  [[nodiscard]] bool wants_private_writes() const noexcept;
  void map_for_copies(const Segment& segment, FieldWindow& window);
  void guard_fields();
  void note_start();
  [[nodiscard]] bool on_device() const noexcept { return !options_.placement.is_host(); }
  [[nodiscard]] bool copies() const noexcept {
    return options_.access == Access::private_copy || options_.pace == Pace::free || stages_;
  }
  void populate_from(const std::vector<DoubleMapping>& mappings, std::uint64_t position);
  /// Whether this process has written into a batch of the ring's. To be asked once a run is known
  /// to be published and before it is shown in place: docs/decisions/0018.
  [[nodiscard]] bool has_written() const noexcept { return written_.load() != 0; }
  void note_first_write(std::uint64_t position);
  /// From any thread: nobody looks at that batch any more, or it is a copy after all. After a write
  /// the last one in place gives the private memory back.
  void leave_place(BatchRecord& record) noexcept;
  void leave_place_locked(BatchRecord& record) noexcept;  // with the mutex
  [[nodiscard]] Next next_run(std::uint64_t batch_size, int timeout_ms, Run& run);
  /// `may_be_shown`: else it is for a copy in any case.
  [[nodiscard]] BatchRecord& fresh_record(bool may_be_shown);
  void add_record();  // with the mutex
  void recycle(BatchRecord& record) noexcept;
  [[nodiscard]] bool fill(BatchRecord& record, const Run& run);
  void show(BatchRecord& record, const Run& run, bool written);
  void show_copies(BatchRecord& record, const Run& run, bool written);
  void copy_samples(BatchRecord& record, const Run& run);
  /// Those fields for which `wanted[field]`; all of them where it is empty.
  void copy_fields(BatchRecord& record, const Run& run, const std::vector<bool>& wanted);
  /// For so many bytes of a record's copies in host memory.
  [[nodiscard]] std::byte* host_room(BatchRecord& record, std::uint64_t bytes);
  [[nodiscard]] Batch hand_out(BatchRecord& record, const Run& run, const FieldTable& fields);
  void give_back_when_copied(BatchRecord& record, std::uint64_t lease);
  static void release_copied(void* record) noexcept;
  void release_use(BatchRecord& record, bool idle) noexcept;
  [[nodiscard]] bool wait_for_streams(int& timeout_ms);
  void wait_for_copied_batches();
  /// Until streams have passed all dropped batches but so many; false at the time-out.
  [[nodiscard]] bool wait_for_pending(std::size_t most, int timeout_ms);
  static void release_passed(void* record) noexcept;
  void release(BatchRecord& record) noexcept;
  [[nodiscard]] bool has_let_go() noexcept;
  enum class Rejoining { joined, over, timed_out };
  /// Takes its time off the time-out. One that timed out goes on with the next call.
  [[nodiscard]] Rejoining rejoin(int& timeout_ms);
  void take_back_rejoin() noexcept;
  [[nodiscard]] bool ask_to_rejoin(int timeout_ms);
  [[nodiscard]] DoorRead hear_producer(DoorMessage& message, int timeout_ms);
  void pause_if_idle() noexcept;
  void say_pause() noexcept;  // with the mutex
  void leave() noexcept;
  void check_process() const;
  void check_takes_part() const;
  [[noreturn]] void throw_door_closed();
  void log(LogLevel level, const std::string& text) const;

  ConsumerOptions options_;
  const std::uint64_t started_ns_;
  ForkGuard fork_guard_;
  DoorConnection door_;
  FileDescriptor producer_pidfd_;
  Welcome welcome_;
  std::string notes_;
  Schema schema_;
  FieldTable fields_;
  std::optional<Mapping> board_;
  std::unique_ptr<Mapping> desk_;
  std::vector<DoubleMapping> mappings_;     ///< of the fields in host memory, for batches to show
  std::vector<std::size_t> mapped_fields_;  ///< which these are
  std::vector<FieldWindow> shown_windows_;  ///< for batches to show
  /// The same again where writes become private: mappings that nobody gets a pointer into.
  std::vector<DoubleMapping> mappings_for_copies_;
  std::vector<FieldWindow> windows_;  ///< for what this consumer reads itself: the ring's bytes
  std::vector<bool> mapped_once_;     ///< windows that cross the end are not contiguous there
  bool gathers_ = false;              ///< some batches cannot be shown in place
  FieldTable host_fields_;            ///< as a copy in host memory shows them
  std::atomic<std::uint32_t> written_{0};  ///< this process has written into a batch of the ring's
  bool stages_ = false;                    ///< copies in host memory are made to page-locked memory
  bool keeps_writes_ = false;              ///< such a write stays private
  std::uint64_t tried_page_bytes_ = 0;     ///< pages of that size can be replaced
  bool first_write_noted_ = false;
  std::uint64_t shown_ = 0;  ///< batches that were not copied
  std::vector<std::unique_ptr<PrivateChunks>> private_chunks_;
  std::vector<FaultRange> fault_ranges_;
  std::unique_ptr<Delivery> delivery_;  ///< on a GPU or pinned; goes before the mappings do
  std::unique_ptr<RingReader> reader_;
  std::unique_ptr<Populator> populator_;
  /// `lockstep`: a run that the reader gave and that is not handed out, since its copy failed.
  std::optional<Run> undelivered_;
  bool rejoin_asked_ = false;        ///< and not answered yet
  std::uint32_t stale_answers_ = 0;  ///< to come, of loops that were given up before they began
  double attach_seconds_ = 0;
  void* cuda_stream_ = nullptr;

  std::mutex mutex_;  ///< of everything below, which `take_back` touches from any thread
  std::vector<std::unique_ptr<BatchRecord>> records_;
  std::vector<BatchRecord*> idle_records_;
  std::uint64_t in_place_ = 0;  ///< batches that show the ring's memory and could become private
  bool given_back_ = false;     ///< the memory of `private_chunks_`
  /// Batches that were dropped and that streams have not passed yet, and those whose copies are on
  /// their way. Changed with the mutex.
  std::atomic<std::size_t> pending_{0};
  std::condition_variable passed_;
  bool abandoned_ = false;
  bool left_ = false;
  bool paused_ = false;        ///< the producer knows
  bool pause_wanted_ = false;  ///< and shall, once the last lease is back
};

}  // namespace batchcast::inline v0_1::detail
