// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/consumer/stream_joiner.hpp>
#include <batchcast/consumer_options.hpp>
#include <batchcast/join/message.hpp>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace batchcast::inline v0_1::detail {

/// Of memory, address space or descriptors, which another moment may end.
[[nodiscard]] bool is_lack_of_memory(const std::exception& error) noexcept;

/// Looks for the next producer of a stream, on a private thread, and says hello to it. So the
/// trainer drains the last ring meanwhile. With `start` it also starts that producer. The consuming
/// thread makes all calls.
class SuccessorSearch {
 public:
  struct Wanted {
    ConsumerOptions options;  ///< those of the hello
    std::string placement;
    Resumes resumes;
    int timeout_ms = 0;  ///< negative: for ever
  };
  /// Begins at once. Throws SystemError.
  explicit SuccessorSearch(Wanted wanted);
  /// Gives the search up.
  ~SuccessorSearch();
  SuccessorSearch(const SuccessorSearch&) = delete;
  SuccessorSearch& operator=(const SuccessorSearch&) = delete;

  /// For its owner. A forked child leaves it alone: the thread is the parent's, and so is what the
  /// thread was doing with the mutex.
  struct End {
    void operator()(SuccessorSearch* search) const noexcept;
  };

  /// Waits until it is over. False at the time-out.
  [[nodiscard]] bool wait(int timeout_ms);
  /// Whether a producer was found. Call it once it is over.
  [[nodiscard]] bool has_found() const { return joined_.has_value(); }
  /// Whether the producer that was found says that the rank's group is broken, which `take` throws.
  /// Call it once it is over.
  [[nodiscard]] bool is_group_broken() const { return is_group_broken_; }
  /// Why the producer that was found last does not let it in; empty where there is none.
  [[nodiscard]] std::string kept_out() const;
  /// Nothing where time was up. Throws a refusal that does not change, and what the start throws.
  [[nodiscard]] std::optional<Joined> take();

 private:
  struct GivenUp {};

  void run() noexcept;
  [[nodiscard]] std::optional<Joined> find();
  void tell_kept_out(const std::string& reason);
  void look_whether_given_up() const;
  void rest(int ms);

  Wanted wanted_;
  const int owner_pid_;
  mutable std::mutex mutex_;  ///< of the next ones
  std::condition_variable changed_;
  bool given_up_ = false;
  bool over_ = false;
  bool is_group_broken_ = false;
  std::string kept_out_;
  std::optional<Joined> joined_;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace batchcast::inline v0_1::detail
