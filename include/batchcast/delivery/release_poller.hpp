// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/cuda/stream.hpp>

#include <batchcast/core/log.hpp>
#include <batchcast/ring/fork_guard.hpp>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace batchcast::inline v0_1::detail {

class TicketPool;

/// What has to be called once some streams have passed a point. Owned by a pool, recycled.
class Ticket {
 public:
  Ticket(TicketPool& home, std::shared_ptr<detail::cuda::Device> device);

  void begin(void* context, void (*done)(void* context) noexcept) noexcept;
  /// Makes as many events as most tickets need. Throws GpuError; without this call they are made
  /// when needed.
  void make_events();
  /// One more point: all that is enqueued on that stream so far. A stream on which this GPU can
  /// record nothing is waited for. One on which a graph is captured is marked once that has ended.
  void add(void* stream) noexcept;
  /// Whether all of them have. A lost context counts as passed, any other error as not.
  [[nodiscard]] bool passed() noexcept;
  /// Returns to the pool, then calls: the call may be the end of the pool and of its owner.
  void finish() noexcept;

 private:
  friend class TicketPool;
  friend class ReleasePoller;
  enum class State { unmarked, marked, passed };
  struct Point {
    std::optional<detail::cuda::Event> event;
    void* stream = nullptr;
    State state = State::unmarked;
  };
  void mark(Point& point) noexcept;
  [[nodiscard]] detail::cuda::Reply record(Point& point) noexcept;
  void ask(Point& point) noexcept;

  TicketPool& home_;
  std::shared_ptr<detail::cuda::Device> device_;
  std::vector<Point> points_;
  std::size_t used_ = 0;
  std::size_t looked_at_ = 0;  ///< those before it have passed
  void* context_ = nullptr;
  void (*done_)(void* context) noexcept = nullptr;
  Ticket* next_ = nullptr;  ///< in the poller's list
};

/// Tickets of one GPU, with their events. Thread-safe; grows with what is pending at one time.
class TicketPool {
 public:
  /// `log` gets what keeps tickets from passing, once of each kind, from any thread.
  explicit TicketPool(std::shared_ptr<detail::cuda::Device> device, LogCallback log = {});
  TicketPool(const TicketPool&) = delete;
  TicketPool& operator=(const TicketPool&) = delete;

  [[nodiscard]] Ticket& take();
  void put(Ticket& ticket) noexcept;
  /// A ticket cannot tell whether it has passed.
  void note(const detail::cuda::Reply& reply) noexcept;

 private:
  std::shared_ptr<detail::cuda::Device> device_;
  LogCallback log_;
  std::atomic<bool> noted_capture_{false}, noted_refusal_{false};
  std::mutex mutex_;
  std::vector<std::unique_ptr<Ticket>> tickets_;
  std::vector<Ticket*> idle_;
};

/// The process's polling thread: looks at pending tickets until they have passed. For a moment
/// after a change it looks without a break, then at intervals that grow while nothing changes. With
/// nothing pending it sleeps. A process has one, which ends before its static objects go. It calls
/// no ticket that comes later, nor one that is still pending a tenth of a second after that.
class ReleasePoller {
 public:
  /// The first call starts it. Not in a forked child of a process that has one: the driver is not
  /// available there either.
  [[nodiscard]] static ReleasePoller& of_process();

  ReleasePoller(const ReleasePoller&) = delete;
  ReleasePoller& operator=(const ReleasePoller&) = delete;

  /// Takes the ticket until it has passed.
  void submit(Ticket& ticket) noexcept;
  /// Calls `end`, which may wait for all that a GPU has to do. The polling thread, for which
  /// others' tickets wait, leaves it to another thread; any other thread calls it itself. From any
  /// thread. What comes as the process exits may never be called.
  void end_apart(void* context, void (*end)(void* context) noexcept) noexcept;
  /// The process exits: the driver may be gone.
  [[nodiscard]] bool stopped() const noexcept { return stopped_.load(std::memory_order_relaxed); }

 private:
  ReleasePoller();
  ~ReleasePoller() = delete;  // others may ask for it while the process exits
  struct Ending {
    void* context;
    void (*end)(void* context) noexcept;
  };

  void run() noexcept;
  void run_endings() noexcept;
  void stop_endings() noexcept;
  [[nodiscard]] bool take_submitted() noexcept;
  [[nodiscard]] bool look() noexcept;
  void stop() noexcept;

  ForkGuard guard_;
  std::mutex mutex_;
  std::condition_variable submitted_;
  Ticket* first_submitted_ = nullptr;
  Ticket** last_submitted_ = &first_submitted_;
  std::uint64_t give_up_ns_ = 0;  ///< before `stopped_`
  std::atomic<bool> stopped_{false};
  Ticket* first_pending_ = nullptr;  ///< the thread's own, as is what follows
  Ticket** last_pending_ = &first_pending_;
  std::atomic<std::thread::id> polling_{};

  std::mutex endings_mutex_;
  std::condition_variable endings_changed_;
  std::vector<Ending> endings_;  ///< the first of them is being called
  bool endings_stop_ = false;
  std::thread endings_thread_;  ///< started by the polling thread once there is something to end
  std::thread thread_;
};

}  // namespace batchcast::inline v0_1::detail
