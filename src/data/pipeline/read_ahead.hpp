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
  /// Threads that read, at most; 0: whoever takes a sample reads it.
  unsigned threads = 64;
  /// What samples read ahead may take up, roughly: one for each thread may come on top.
  std::size_t bytes_max = std::size_t{256} << 20;
  /// A read that waits longer than this on average is worth another thread's work.
  std::uint64_t slow_ns = 200'000;
};

/// Reads the samples of a stream before they are asked for, where reading takes long: on a network,
/// from a cold disk. Where it does not, `take` is no more than the source's own `read`, and there
/// are no threads.
///
/// Positions may be taken by any number of threads, roughly in the stream's order, and some not at
/// all: at most four samples for each thread are read ahead of the foremost position taken, across
/// an epoch's end too, and what falls behind as far untaken is dropped. Whoever jumps far, forward
/// or back, finds nothing ready and starts over there.
///
/// A fork()ed child has no threads: there every sample is read by who takes it.
class ReadAhead {
 public:
  /// The source must outlive it; the order is copied.
  ReadAhead(const Source& source, const Order& order, const ReadAheadOptions& options = {});
  /// Waits for reads in progress. Nobody may be inside `take`.
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  /// Reads `sample_id`, which is what the order has at `index` of `epoch`, into `parts`, whose
  /// buffers it may exchange for others. Throws what Source::read throws for this sample. From any
  /// thread.
  void take(std::uint64_t epoch, std::uint64_t index, std::uint64_t sample_id, SampleParts& parts);

  /// Threads there are at present, and bytes of the buffers held.
  [[nodiscard]] unsigned threads() const;
  [[nodiscard]] std::size_t bytes() const;

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
  // With the lock held.
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
  // Of the readers.
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
  std::condition_variable done_;  ///< a read that somebody waits for
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
  bool ends_ = false;
};

}  // namespace batchcast::inline v0_1::detail
