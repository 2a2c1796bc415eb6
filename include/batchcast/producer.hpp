// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/language.hpp>

#include <batchcast/core/group.hpp>
#include <batchcast/core/log.hpp>
#include <batchcast/core/options.hpp>
#include <batchcast/core/schema.hpp>
#include <batchcast/core/states.hpp>
#include <batchcast/data/cache_options.hpp>
#include <batchcast/loan.hpp>
#include <batchcast/producer_options.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace batchcast::inline v0_1 {
namespace detail {
class ProducerCore;
class SpanBuffer;
}
class Substitutions;

struct ConsumerInfo {
  std::uint64_t id = 0;  ///< unique in the stream's life
  std::string name;
  std::string placement;  ///< host, cuda:0; in a head: head-1
  std::uint32_t pid = 0;
  std::uint32_t batch_size = 0;
  Pace pace = Pace::lockstep;
  ConsumerState state = ConsumerState::running;
  std::uint64_t position = 0;
  std::uint64_t lag = 0;  ///< published samples that it has not released yet
  std::uint64_t samples = 0;
  double wait_seconds = 0;        ///< it waited for samples
  double waited_for_seconds = 0;  ///< the full ring waited for this consumer
  Group group = {};               ///< world 0: none
};

/// A group of which some ranks have not come yet. Those that have come wait at the door.
struct FormingGroup {
  std::string name;
  std::uint32_t world = 0;
  std::vector<std::uint32_t> missing;  ///< ranks
};

/// How many rows of an axis a ring holds for consumers.
struct AxisInfo {
  std::string name;
  std::uint64_t rows = 0;  ///< that there is room for
  std::uint64_t used = 0;
};

/// What may be changed while a stream is served, by `batchcast set` and `Producer::set`.
struct Setting {
  std::string name;
  std::function<std::string()> get;
  /// Throws InvalidArgument for a value that cannot be meant. It may leave the change to the thread
  /// that owns what is changed.
  std::function<void(const std::string& value)> set;
};

/// One of the rings that show a stream.
struct RingInfo {
  std::string placement;  ///< host, cuda:0; of a head: head-1
  std::string id;         ///< host, or the GPU's UUID
  std::uint64_t capacity = 0;
  std::uint64_t memory = 0;  ///< bytes of samples there
  std::uint64_t published = 0;
  StreamState state = StreamState::starting;
  bool rests = false;  ///< no consumer there asks for samples, so its mirror copies none
  /// Published samples that its slowest consumer has not released; without one, all that it holds.
  std::uint64_t used = 0;
  std::vector<AxisInfo> axes = {};
  std::uint32_t trainers = 0;
  /// While the stream has heads: of the workers' time, what this ring got in the last second. Else,
  /// and for a ring on a GPU, negative.
  double work_share = -1;
};

/// Where the time of one worker went.
struct WorkerSeconds {
  double reading = 0;
  double making = 0;
  double waiting = 0;  ///< for room in the ring
  double cpu = 0;
};

/// What a stream's makers report: a Feeder does.
struct MakingStats {
  unsigned workers = 0;
  bool workers_auto = false;             ///< the feeder chooses their number
  std::string_view bottleneck = "none";  ///< `name_of(Bottleneck)`
  WorkerSeconds all = {};                ///< of all workers, those too that have left
  double helper_cpu = 0;                 ///< processor seconds of threads that help them
  std::vector<WorkerSeconds> each = {};
  /// Of making, the share that was decoding: an estimate from 1 sample in 64. Negative: none.
  double decoding_share = -1;
  std::uint64_t bad_samples = 0;
  std::uint64_t stand_ins = 0;
  std::uint64_t stand_in_times = 0;
  CacheStats cache = {};
};

struct ProducerStats {
  StreamState state = StreamState::starting;
  std::uint64_t epoch = 0;
  std::uint64_t published = 0;
  /// How many samples at the end of `published` no trainer received or skipped.
  std::uint64_t unread = 0;
  double uptime_seconds = 0;
  std::uint64_t samples = 0;    ///< published, without those that were jumped over
  std::uint64_t delivered = 0;  ///< that trainers had, those too that have left
  std::uint64_t late_wakeups = 0;
  std::uint64_t space_waits = 0;
  double space_wait_seconds = 0;
  double samples_per_second = 0;  ///< over the last second
  WaitsFor waits_for = WaitsFor::nothing;
  std::uint32_t consumers_to_come = 0;  ///< before its first sample (`wait_for`); a group is one
  std::vector<RingInfo> rings;          ///< the one in host memory first
  std::vector<ConsumerInfo> consumers;
  std::vector<FormingGroup> forming;
  std::optional<MakingStats> making;  ///< none where the program fills loans itself
};

/// Serves one stream. Thread-safe: loans may be taken from any number of threads. After fork() the
/// child cannot use it, and its destructor does nothing there.
class Producer {
 public:
  /// Throws InvalidArgument, StreamTaken, OutOfMemory, SystemError, GpuUnavailable, GpuError.
  explicit Producer(ProducerOptions options);
  /// Ends the stream as `finish` does if its last epoch was made, and as `stop` otherwise. Where
  /// that takes longer than two seconds, it reports what it waits for (`log`). It also waits for
  /// batches that this process holds: a thread that holds one while it destroys the producer waits
  /// for ever. It waits for nothing if more exceptions unwind on this thread than when the producer
  /// was made. Then a stream whose last epoch was made ends as it is, and any other one fails.
  ~Producer();
  Producer(Producer&&) noexcept;
  Producer& operator=(Producer&&) noexcept;

  /// Waits for at least one free place and lends up to `samples_max` of them, contiguous. Returns
  /// nothing once the last epoch is handed out, or the stream was stopped.
  [[nodiscard]] std::optional<Loan> loan(std::uint64_t samples_max);
  /// Like `loan`, but waits at most that long; `over()` tells the two kinds of nothing apart.
  [[nodiscard]] std::optional<Loan> try_loan(std::uint64_t samples_max, int timeout_ms);
  /// No further loan will be granted.
  [[nodiscard]] bool over() const noexcept;

  /// For unknown epoch lengths: ends the epoch after the last sample published. No loan may be out.
  void end_epoch();
  /// Says that no more samples will come, and waits until consumers have drained, at most the
  /// options' `linger_ms`. True if they have. May be called again. A stream that never had a
  /// consumer waits for one. A stream that `batchcast ensure` called `served` waits for that
  /// trainer, 5 s at most.
  bool finish();
  bool finish(int linger_ms);
  /// Ends the stream here: consumers drain what is published and then get Stopped, or StreamFailed,
  /// with this text. From any thread. `stop` also ends the wait of `finish`.
  void stop(const std::string& reason) noexcept;
  void fail(const std::string& reason) noexcept;
  /// Stops the stream if no consumer, observers aside, has been attached for `seconds`. That time
  /// counts from the last that left, from the last `served` of `batchcast ensure`, or from the
  /// beginning. Otherwise returns false and does nothing. A consumer that joins at the same moment
  /// is either attached or refused.
  [[nodiscard]] bool stop_if_unattended(double seconds, const std::string& reason) noexcept;

  /// Stops the stream where it has not ended, and frees its name. The door, the lock and the
  /// stream's directory go at once, no matter how long loans are still out. It is for a producer
  /// whose sample-making threads may hang. It waits for none of them, and the destructor may come
  /// much later. Consumers drain what is published. Do not call it from the options' `log`.
  void give_up_name(const std::string& reason) noexcept;

  /// Ends the stream, and frees its name for another Producer of this process that serves it in
  /// another way. No consumer may be attached, observers aside. It leaves no last words: trainers
  /// that wait for the stream go on waiting. Do not call it from the options' `log` or `want_grid`.
  void make_way(const std::string& reason) noexcept;

  /// Evicts a consumer that still lives: it gets Revoked. False if there is none. Throws Forked.
  bool evict(std::string_view consumer, const std::string& reason);

  /// Throws Forked.
  [[nodiscard]] ProducerStats stats() const;
  /// That of `stats`, which costs far more. Throws Forked.
  [[nodiscard]] StreamState state() const;
  /// Who makes the samples reports by this function, which any thread may call. An empty one ends
  /// that, and waits for calls that are under way.
  void report_making(std::function<MakingStats()> report);

  /// Another thread that makes samples notes there what it does while `batchcast trace` looks.
  /// It is forgotten once the caller has given it up.
  void add_spans(std::shared_ptr<detail::SpanBuffer> spans);

  /// Says something through the options' `log`, with the stream's name.
  void report(LogLevel level, std::string_view text) const;

  /// Changes settings while the stream runs: all of them or, where one is refused, none. A producer
  /// has `ahead`, `free_running`, `on_stall` and `stall_timeout`, a Feeder adds `workers`.
  /// `default` is the value that a setting had at first. Throws InvalidArgument, Forked.
  void set(const std::vector<std::pair<std::string, std::string>>& values);
  /// Adds a setting, which any thread may call until it is removed. Removing waits for calls of it.
  void add_setting(Setting setting);
  void remove_setting(const std::string& name);
  /// Where a maker's workers find and note which samples stand in for bad ones; a Feeder gives it
  /// to them. Null where no producer can go on with the stream after this one's death.
  [[nodiscard]] Substitutions* substitutions() noexcept;
  [[nodiscard]] const std::string& stream() const noexcept;
  [[nodiscard]] const std::string& directory() const noexcept;
  /// The fields, without sample_id.
  [[nodiscard]] const Schema& schema() const noexcept;
  [[nodiscard]] std::uint64_t samples_per_epoch() const noexcept;
  /// Samples that the ring spans.
  [[nodiscard]] std::uint64_t capacity() const noexcept;
  /// Rows that the ring has on an axis, which is the most that a sample may have. Throws
  /// InvalidArgument where the schema has no such axis.
  [[nodiscard]] std::uint64_t rows(std::string_view axis) const;
  /// Bytes that the ring takes.
  [[nodiscard]] std::uint64_t memory() const noexcept;

 private:
  std::unique_ptr<detail::ProducerCore> core_;
};

}  // namespace batchcast::inline v0_1
