// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/consumer.hpp>
#include <batchcast/control/door.hpp>
#include <batchcast/control/message.hpp>
#include <batchcast/core/field_table.hpp>
#include <batchcast/ring/fault_message.hpp>
#include <batchcast/ring/fork_guard.hpp>
#include <batchcast/ring/memory.hpp>
#include <batchcast/ring/reader.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace batchcast::detail {

class Attachment;

/// One batch handed out, shared by its handles. Recycled: after the first few, none is allocated.
struct BatchRecord {
  std::atomic<std::uint32_t> references{0};
  std::shared_ptr<Attachment> owner;  ///< while it is out
  std::vector<std::byte*> data;       ///< of each field
  std::vector<std::uint64_t> strides;
  std::vector<std::byte> copy;  ///< where the consumer copies
  Run run;
  bool leased = false;

  [[nodiscard]] static Batch handle(BatchRecord& record, const BatchContents& contents) noexcept {
    return Batch(&record, contents);
  }
};

/// What a consumer has mapped and holds open, and its place at the producer. Lives until the
/// Consumer and the last of its batches are gone. Calls are the consuming thread's, except
/// `take_back`.
class Attachment final : public ReaderHost, public std::enable_shared_from_this<Attachment> {
 public:
  /// Waits for the stream and joins it.
  [[nodiscard]] static std::shared_ptr<Attachment> attach(const ConsumerOptions& options);
  ~Attachment() override;

  [[nodiscard]] NextBatch next(std::uint64_t batch_size, int timeout_ms);
  [[nodiscard]] bool has_next_epoch();
  [[nodiscard]] std::optional<Batch> newest(std::uint64_t samples_max);
  void leave_epoch() noexcept;
  void check() const;
  void check_batch_size(std::uint64_t batch_size) const;
  void set_batch_size(std::uint64_t batch_size) noexcept;
  /// The Consumer is gone: leave as soon as no lease is held.
  void abandon() noexcept;

  /// From any thread: the last handle of a batch is gone.
  void take_back(BatchRecord& record) noexcept;
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

  [[nodiscard]] bool producer_is_dead() noexcept override;
  [[nodiscard]] std::string why_revoked() override;

 private:
  Attachment(const ConsumerOptions& options, std::uint64_t started_ns);
  [[nodiscard]] bool knock(const std::string& door_path, std::string& obstacle);
  [[nodiscard]] int patience_ms() const noexcept;
  void adopt(Welcome welcome, std::vector<FileDescriptor> descriptors);
  void map_fields(std::vector<FileDescriptor>& descriptors);
  void note_start();
  [[nodiscard]] bool copies() const noexcept {
    return options_.access == Access::private_copy || options_.pace == Pace::free;
  }
  void populate_from(std::uint64_t position);
  [[nodiscard]] BatchRecord& fresh_record();
  void recycle(BatchRecord& record) noexcept;
  void show(BatchRecord& record, const Run& run);
  void copy_samples(BatchRecord& record, const Run& run);
  [[nodiscard]] Batch hand_out(BatchRecord& record, const Run& run);
  [[nodiscard]] bool has_let_go() noexcept;
  [[nodiscard]] bool rejoin();
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
  std::vector<DoubleMapping> mappings_;
  std::vector<FieldWindow> windows_;
  std::vector<FaultRange> fault_ranges_;
  std::unique_ptr<RingReader> reader_;
  std::unique_ptr<Populator> populator_;
  double attach_seconds_ = 0;
  void* cuda_stream_ = nullptr;

  std::mutex mutex_;  ///< of everything below, which `take_back` touches from any thread
  std::vector<std::unique_ptr<BatchRecord>> records_;
  std::vector<BatchRecord*> idle_records_;
  bool abandoned_ = false;
  bool left_ = false;
  bool paused_ = false;        ///< the producer knows
  bool pause_wanted_ = false;  ///< and shall, once the last lease is back
};

}  // namespace batchcast::detail
