// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/language.hpp>

#include <batchcast/core/field_table.hpp>
#include <batchcast/core/group.hpp>
#include <batchcast/core/log.hpp>
#include <batchcast/core/options.hpp>
#include <batchcast/core/placement.hpp>
#include <batchcast/core/schema.hpp>
#include <batchcast/core/states.hpp>
#include <batchcast/device_stage.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace batchcast::inline v0_1 {
namespace detail {
class ProducerCore;
}

struct ProducerOptions {
  // ---- The stream. Every producer says these.

  /// Name of the stream. Only one producer at a time can serve a name.
  std::string stream;
  /// Fields of a sample. The producer adds `sample_id` itself.
  Schema schema = {};
  /// Upper limit for the samples in host memory, in bytes. Default: 256 MiB.
  std::uint64_t memory = std::uint64_t{256} << 20;
  /// Samples of an epoch. 0, the default: each epoch ends with a call of `end_epoch`.
  std::uint64_t samples_per_epoch = 0;
  /// Epochs to make. 0, the default: endless.
  std::uint64_t epochs = 0;
  /// The first publication waits for this many consumers, of which a group of ranks is one.
  /// Default: 0, it waits for none.
  std::uint32_t wait_for = 0;

  // ---- GPUs. Without `places` the stream is served in host memory only.

  /// GPUs that the stream is served on as well. Each gets a ring of its own, which one copy from
  /// the host ring fills for all trainers there. Throws GpuUnavailable, GpuError, OutOfMemory.
  std::vector<Placement> places = {};
  /// Upper limit for the samples on each of these GPUs, in bytes. 0, the default: as in host
  /// memory.
  std::uint64_t device_memory = 0;
  /// Fields that stay in host memory for consumers on GPUs too. `sample_id` always does.
  std::vector<std::string> host_fields = {};
  /// Work on the samples on each GPU before trainers there get them. Null, the default: none.
  std::shared_ptr<const DeviceStage> device_stage = nullptr;

  // ---- Pace. Most users leave these alone.

  /// Consumers that can be attached at a time. At most limits::consumers_max, 1,024.
  std::uint32_t max_consumers = 64;
  /// Epochs to make beyond the foremost consumer; while none is attached, beyond the place where
  /// the next consumer would begin. Never more than the ring holds. 0: as many as the ring holds.
  std::uint64_t ahead = 2;
  /// Make samples although no consumer asks for them, and without the limit of `ahead`.
  bool free_running = false;
  /// A consumer that has kept the producer from writing for this long is reported, or evicted.
  /// Default: one minute.
  std::uint64_t stall_timeout_ms = 60'000;
  OnStall on_stall = OnStall::report;
  /// How long the end of the stream waits for consumers to read the rest, counted from the later
  /// of its last sample and the moment when those of `wait_for` are there; the destructor counts
  /// from its call. Negative, the default: as long as it takes.
  int linger_ms = -1;
  HugePages huge_pages = HugePages::automatic;

  // ---- What determines the samples. `producer_options` (feeder.hpp) fills these in.

  /// JSON text of the recipe, for the board.
  std::string recipe_json = {};
  /// The recipe determines every byte of the stream.
  bool pure = false;
  /// For a pure stream: 32 hexadecimal digits. Two streams have the same digits only if they have
  /// the same sample at each position. Empty, the default: the digits in the recipe, else a
  /// fingerprint of its text.
  std::string identity = {};

  // ---- Surroundings. Most users leave these alone.

  /// User ids, besides this process's own, whose consumers may attach.
  std::vector<std::uint32_t> allow_uids = {};
  /// Directory for the stream's files. Empty, the default: the usual place (join/directory.hpp).
  std::string directory = {};
  /// Takes the producer's messages. Empty, the default: warnings and errors go to stderr.
  LogCallback log = {};
};

/// What a loan shows; see BatchContents.
struct LoanContents {
  const FieldTable* fields = nullptr;
  std::uint64_t position = 0;
  std::uint64_t size = 0;
  std::uint64_t epoch = 0;
  std::uint64_t index_in_epoch = 0;
};

/// Consecutive places of the ring, to be filled and published. Move-only. Loans may be filled and
/// published on any thread and in any order. One that is dropped unpublished goes back if it is the
/// newest; any other would leave a hole, so the stream fails. A stream that goes to another
/// position grants no loan before those from the old one are back: a thread that keeps one while it
/// waits for the next would wait for ever.
class Loan {
 public:
  Loan(Loan&& other) noexcept
      : core_(std::exchange(other.core_, nullptr)), contents_(other.contents_) {}
  Loan& operator=(Loan&& other) noexcept {
    if (this != &other) {
      give_back();
      core_ = std::exchange(other.core_, nullptr);
      contents_ = other.contents_;
    }
    return *this;
  }
  ~Loan() { give_back(); }

  /// Number of samples; at least one, at most what was asked for, all of one epoch.
  [[nodiscard]] std::size_t size() const noexcept { return contents_.size; }
  /// Of the first one. It need not follow the last loan's. The stream skips samples that no
  /// consumer wants; and a pure stream goes back to a checkpoint's position where no other consumer
  /// is attached.
  [[nodiscard]] std::uint64_t position() const noexcept { return contents_.position; }
  [[nodiscard]] std::uint64_t epoch() const noexcept { return contents_.epoch; }
  /// Of the first one, counted from its epoch's start.
  [[nodiscard]] std::uint64_t index_in_epoch() const noexcept { return contents_.index_in_epoch; }

  /// Where one field of all samples goes. Throws InvalidArgument for a wrong name or type.
  template <class T>
  [[nodiscard]] FieldView<T> field(std::string_view name) const {
    return field<T>(contents_.fields->index_of(name));
  }
  template <class T>
  [[nodiscard]] FieldView<T> field(std::size_t index) const {
    return contents_.fields->view<T>(index, data(index), contents_.size,
                                     (*contents_.fields)[index].stride_bytes);
  }

  /// The dataset's index of each sample. Holds index_in_epoch, + 1, … until it is written.
  [[nodiscard]] std::span<std::uint64_t> sample_ids() const noexcept {
    return {reinterpret_cast<std::uint64_t*>(data(contents_.fields->sample_id_index())),
            contents_.size};
  }

  /// The samples are complete: consumers may have them.
  void publish();

 private:
  friend class Producer;
  Loan(detail::ProducerCore& core, const LoanContents& contents) noexcept
      : core_(&core), contents_(contents) {}
  [[nodiscard]] std::byte* data(std::size_t index) const noexcept;
  void give_back() noexcept;

  detail::ProducerCore* core_;
  LoanContents contents_;
};

struct ConsumerInfo {
  std::string name;
  std::string placement;  ///< host, cuda:0
  std::uint32_t pid = 0;
  std::uint32_t batch_size = 0;
  Pace pace = Pace::lockstep;
  ConsumerState state = ConsumerState::running;
  std::uint64_t position = 0;
  std::uint64_t lag = 0;  ///< published samples that it has not released yet
  std::uint64_t samples = 0;
  double wait_seconds = 0;
  Group group = {};  ///< world 0: none
};

/// A group of ranks of which some have not come yet: those that have wait at the door.
struct FormingGroup {
  std::string name;
  std::uint32_t world = 0;
  std::vector<std::uint32_t> missing;  ///< ranks
};

/// One of the rings that show a stream.
struct RingInfo {
  std::string placement;  ///< host, cuda:0
  std::string id;         ///< host, or the GPU's UUID
  std::uint64_t capacity = 0;
  std::uint64_t memory = 0;  ///< bytes of samples there
  std::uint64_t published = 0;
  StreamState state = StreamState::starting;
  bool rests = false;  ///< no consumer there asks for samples, so its mirror copies none
};

struct ProducerStats {
  StreamState state = StreamState::starting;
  std::uint64_t epoch = 0;
  std::uint64_t published = 0;
  /// The last so many of these: no trainer was given them, or passed them over as it left an epoch.
  std::uint64_t unread = 0;
  std::uint64_t late_wakeups = 0;
  std::uint64_t space_waits = 0;
  double space_wait_seconds = 0;
  double samples_per_second = 0;  ///< over the last second
  WaitsFor waits_for = WaitsFor::nothing;
  std::uint32_t consumers_to_come = 0;  ///< before its first sample (`wait_for`); a group is one
  std::vector<RingInfo> rings;          ///< the one in host memory first
  std::vector<ConsumerInfo> consumers;
  std::vector<FormingGroup> forming;
};

/// Serves one stream. Thread-safe: loans may be taken from any number of threads. After fork() the
/// child cannot use it, and its destructor does nothing there.
class Producer {
 public:
  /// Throws InvalidArgument, StreamTaken, OutOfMemory, SystemError, GpuUnavailable, GpuError.
  explicit Producer(ProducerOptions options);
  /// Ends the stream as `finish` does if its last epoch was made, and as `stop` otherwise. Where it
  /// waits for longer than two seconds, it reports what for (`log`). It waits also for batches that
  /// this process holds: a thread that holds one while it destroys the producer waits for ever.
  /// If more exceptions unwind on this thread than when the producer was made, it waits for
  /// nothing: a stream whose last epoch was made ends as it is, and any other one fails.
  ~Producer();
  Producer(Producer&&) noexcept;
  Producer& operator=(Producer&&) noexcept;

  /// Waits for at least one free place and lends up to `samples_max` of them, contiguous. Nothing
  /// once the last epoch is handed out, or the stream was stopped.
  [[nodiscard]] std::optional<Loan> loan(std::uint64_t samples_max);
  /// The same, waiting at most that long; `over()` tells the two kinds of nothing apart.
  [[nodiscard]] std::optional<Loan> try_loan(std::uint64_t samples_max, int timeout_ms);
  /// No further loan will be granted.
  [[nodiscard]] bool over() const noexcept;

  /// Streams of unknown epoch length: the epoch ends after the last sample published. No loan may
  /// be out.
  void end_epoch();
  /// No more samples will come; waits until consumers have drained, at most the options'
  /// `linger_ms`. True if they have; may be called again. A stream that never had a consumer waits
  /// for one, and one that `batchcast ensure` called `served` waits for that trainer, 5 s at most.
  bool finish();
  bool finish(int linger_ms);
  /// Ends the stream here: consumers drain what is published and then get Stopped, or StreamFailed,
  /// with this text. From any thread. `stop` also ends the wait of `finish`.
  void stop(const std::string& reason) noexcept;
  void fail(const std::string& reason) noexcept;
  /// Stops it if no consumer but observers has been attached for so long, counted from the last
  /// that left, from the last `served` of `batchcast ensure`, or from the beginning. False, and
  /// nothing happens, otherwise. A consumer that joins at the same moment is either attached or
  /// refused.
  [[nodiscard]] bool stop_if_unattended(double seconds, const std::string& reason) noexcept;

  /// Stops it where it has not ended, and gives its name free: the door, the lock and the stream's
  /// directory go at once, whatever the loans that are out still take. For a producer whose samples
  /// are made by threads that may hang: it waits for none of them, and its destructor may come
  /// much later. Consumers drain what is published. Not from the options' `log`.
  void give_up_name(const std::string& reason) noexcept;

  /// Takes a consumer's place away although it lives: it gets Revoked. False if there is none.
  bool evict(std::string_view consumer, const std::string& reason);

  [[nodiscard]] ProducerStats stats() const;
  [[nodiscard]] const std::string& stream() const noexcept;
  [[nodiscard]] const std::string& directory() const noexcept;
  /// Without sample_id.
  [[nodiscard]] const Schema& schema() const noexcept;
  [[nodiscard]] std::uint64_t samples_per_epoch() const noexcept;
  /// Samples that the ring spans.
  [[nodiscard]] std::uint64_t capacity() const noexcept;
  /// Bytes that the ring takes.
  [[nodiscard]] std::uint64_t memory() const noexcept;

 private:
  std::unique_ptr<detail::ProducerCore> core_;
};

}  // namespace batchcast::inline v0_1
