// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/consumer.hpp>
#include <batchcast/torch/batch.hpp>
#include <batchcast/torch/torch_consumer.hpp>

#include <c10/util/Exception.h>
#include <torch/data/dataloader_options.h>
#include <torch/types.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <utility>

namespace batchcast::inline v0_1::detail {

/// How long to wait for a batch, as Consumer takes it.
[[nodiscard]] inline int timeout_ms_of(const torch::data::FullDataLoaderOptions& options) {
  if (!options.timeout) return -1;
  constexpr std::int64_t longest_ms = std::numeric_limits<int>::max();
  return static_cast<int>(std::clamp<std::int64_t>(options.timeout->count(), 0, longest_ms));
}

[[nodiscard]] inline ConsumerOptions with_options_of(
    const torch::data::FullDataLoaderOptions& options, ConsumerOptions consumer) {
  if (!consumer.window.is_set()) consumer.batch_size = options.batch_size;  // else it has its runs
  if (options.drop_last) consumer.tail = Tail::drop;
  return consumer;
}

/// What a data loader and its iterators share: the consumer, and the loop that it is in. There is
/// one loop at a time; earlier ones are over. One thread at a time uses it.
template <class UserBatch>
class LoaderFeed {
 public:
  LoaderFeed(ConsumerOptions consumer, torch::data::DataLoaderOptions options, ExampleFields fields)
      : options_(options.drop_last(options.drop_last() || consumer.tail == Tail::drop)),
        timeout_ms_(timeout_ms_of(options_)),
        consumer_(with_options_of(options_, std::move(consumer)), std::move(fields)) {
    static_cast<void>(this->consumer());
  }

  /// Attaches again if it has left.
  [[nodiscard]] Consumer& consumer() {
    Consumer& consumer = consumer_.get();
    samples_per_epoch_ = consumer.samples_per_epoch();
    return consumer;
  }

  void leave() noexcept {
    if (!consumer_.attached()) return;
    left_ = {cursor(), cursor_row(), epoch(), stats(), revocation()};
    in_epoch_ = false;
    ++loop_;
    consumer_.leave();
  }

  /// Begins a loop and returns its number; the loop before it is over.
  [[nodiscard]] std::uint64_t begin_loop() {
    static_cast<void>(consumer());
    leave_loop(loop_);
    return ++loop_;
  }

  /// The next batch of that loop; nothing once it is over.
  [[nodiscard]] torch::optional<UserBatch> next(std::uint64_t loop) {
    if (loop != loop_) return {};
    // An exception here does not leave the epoch: the cursor stays where a checkpoint needs it.
    in_epoch_ = false;
    NextBatch next;
    do {
      next = consumer_.get().try_next(timeout_ms_);
    } while (next.outcome == Outcome::timed_out && timeout_ms_ < 0);
    if (next.outcome == Outcome::timed_out) throw_timeout();
    if (next.outcome == Outcome::end_of_epoch) {
      ++loop_;
      return {};
    }
    in_epoch_ = true;
    return consumer_.make(next.batch);
  }

  /// Skips the rest of the loop's epoch, if it is in one. A rank of a group does not when an
  /// exception ends the loop: the other ranks would take it for a shorter epoch.
  void leave_loop(std::uint64_t loop, bool by_exception = false) noexcept {
    if (loop != loop_ || !std::exchange(in_epoch_, false)) return;
    if (by_exception && consumer_.attached() && consumer_.present().group().world != 0) return;
    consumer_.leave_epoch();
  }

  [[nodiscard]] const torch::data::FullDataLoaderOptions& options() const noexcept {
    return options_;
  }
  [[nodiscard]] torch::optional<std::size_t> size() const noexcept {
    return size_of_epoch(samples_per_epoch_);
  }
  [[nodiscard]] std::uint64_t cursor() const noexcept {
    return consumer_.attached() ? consumer_.present().cursor() : left_.cursor;
  }
  [[nodiscard]] std::uint64_t cursor_row() const noexcept {
    return consumer_.attached() ? consumer_.present().cursor_row() : left_.cursor_row;
  }
  [[nodiscard]] std::uint64_t epoch() const noexcept {
    return consumer_.attached() ? consumer_.present().epoch() : left_.epoch;
  }
  [[nodiscard]] ConsumerStats stats() const noexcept {
    return consumer_.attached() ? consumer_.present().stats() : left_.stats;
  }
  void check() const {
    if (consumer_.attached()) {
      consumer_.present().check();
    } else if (left_.revocation) {
      std::rethrow_exception(left_.revocation);
    }
  }

 private:
  struct Left {
    std::uint64_t cursor = 0;
    std::uint64_t cursor_row = 0;
    std::uint64_t epoch = 0;
    ConsumerStats stats;
    std::exception_ptr revocation;
  };

  [[nodiscard]] std::exception_ptr revocation() const noexcept {
    try {
      consumer_.present().check();
    } catch (...) {
      return std::current_exception();
    }
    return nullptr;
  }

  [[noreturn]] void throw_timeout() const {
    TORCH_CHECK(false, "Timeout in SharedDataLoader while waiting for next batch of stream `",
                consumer_.options().stream, "` (timeout was ", timeout_ms_, " ms)");
  }

  torch::data::FullDataLoaderOptions options_;
  int timeout_ms_;
  TorchConsumer<UserBatch> consumer_;
  std::uint64_t samples_per_epoch_ = 0;
  std::uint64_t loop_ = 0;
  bool in_epoch_ = false;  ///< the current loop has had a batch of an epoch that is not over
  Left left_;
};

}  // namespace batchcast::inline v0_1::detail
