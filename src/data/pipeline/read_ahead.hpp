// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/data/order.hpp>
#include <batchcast/data/source.hpp>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace batchcast::inline v0_1::detail {

struct ReadAheadOptions {
  /// Threads that read, at most. 0: the thread that takes a sample reads it.
  unsigned threads = 64;
  /// Bytes that samples read ahead may take, roughly: each thread may add one sample.
  std::size_t bytes_max = std::size_t{256} << 20;
  /// A read that waits longer than this on average is worth another thread's work.
  std::uint64_t slow_ns = 200'000;
};

/// Reads the samples of a stream before they are asked for, where reading takes long: on a network,
/// from a cold disk. Elsewhere `take` only calls the source's `read`, and there are no threads.
///
/// Any number of threads may take positions, roughly in the stream's order; some positions may stay
/// untaken. At most four samples for each thread are read ahead of the foremost position taken,
/// across an epoch's end too. Samples that stay untaken as far back are dropped. A far jump,
/// forward or back, finds nothing ready and starts over there.
///
/// A fork()ed child has no threads: there the thread that takes a sample reads it.
class ReadAhead {
 public:
  /// The source must outlive it; the order is copied.
  ReadAhead(const Source& source, const Order& order, const ReadAheadOptions& options = {});
  /// Waits for reads in progress. No thread may be inside `take`.
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  /// Reads `sample_id`, which is what the order has at `index` of `epoch`, into `parts`. It may
  /// exchange the buffers of `parts`. Throws what Source::read throws for this sample. From any
  /// thread.
  void take(std::uint64_t epoch, std::uint64_t index, std::uint64_t sample_id, SampleParts& parts);

  /// The present number of threads, and the bytes of their buffers.
  [[nodiscard]] unsigned threads() const;
  [[nodiscard]] std::size_t bytes() const;
  /// Processor time of all of them, those too that have ended.
  [[nodiscard]] std::uint64_t cpu_ns();

 private:
  enum class State : std::uint8_t { empty, reading, ready, failed };
  struct Slot {
    std::uint64_t position = 0;
    State state = State::empty;
    unsigned waiters = 0;
    std::size_t bytes = 0;  ///< of its buffers
    SampleParts parts;
    std::exception_ptr failure;
  };
  struct Reader {
    std::thread thread;
    bool ended = false;
  };
  using Lock = std::unique_lock<std::mutex>;

  [[nodiscard]] bool is_forked() const noexcept;
  void read_here(std::uint64_t sample_id, SampleParts& parts);
  void observe(std::uint64_t waited_ns) noexcept;
  // The lock has to be held.
  [[nodiscard]] Slot& slot_of(std::uint64_t position) { return slots_[position % slots_.size()]; }
  [[nodiscard]] bool holds(const Slot& slot, std::uint64_t position) const noexcept {
    return slot.state != State::empty && slot.position == position;
  }
  void move_to(std::uint64_t position);
  void look_further();
  [[nodiscard]] bool can_claim();
  [[nodiscard]] bool has_room();
  void call_readers();
  void start_reader();
  void change_bytes(Slot& slot, std::size_t bytes);
  void drop(Slot& slot);
  // A reader's loop.
  void read_until_idle(std::size_t reader);
  void read_claimed(Lock& lock);

  const Source& source_;
  const Order order_;
  const ReadAheadOptions options_;
  const std::uint64_t depth_max_;
  const bool never_;
  const int pid_;
  std::atomic<std::uint64_t> read_ns_{0};  ///< what a read waits on average
  std::atomic<bool> slow_{false};

  mutable std::mutex mutex_;
  std::condition_variable work_;  ///< something to claim, or the end
  std::condition_variable done_;  ///< a read that a thread waits for
  std::vector<Slot> slots_;       ///< of position p: p modulo their number
  std::vector<Reader> readers_;
  std::uint64_t foremost_ = 0;  ///< above every position taken
  std::uint64_t next_ = 0;      ///< to be read
  std::uint64_t depth_ = 0;
  std::size_t bytes_ = 0;
  std::size_t large_bytes_ = 0;  ///< of a sample, lately
  unsigned running_ = 0;
  unsigned idle_ = 0;
  unsigned reading_ = 0;
  std::uint64_t ended_cpu_ns_ = 0;
  bool ends_ = false;
};

}  // namespace batchcast::inline v0_1::detail
