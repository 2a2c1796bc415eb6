// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/adapt/torch_batch.hpp>
#include <batchcast/consumer.hpp>

#include <c10/util/Exception.h>
#include <torch/data/dataloader_options.h>
#include <torch/types.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

namespace batchcast::detail {

/// How long to wait for a batch, as Consumer takes it.
[[nodiscard]] inline int timeout_ms_of(const torch::data::FullDataLoaderOptions& options) {
  if (!options.timeout) return -1;
  constexpr std::int64_t longest_ms = std::numeric_limits<int>::max();
  return static_cast<int>(std::clamp<std::int64_t>(options.timeout->count(), 0, longest_ms));
}

/// What a data loader and its iterators share: the attachment and the loop that it is in. There is
/// one loop at a time; those before it are over. Used from one thread at a time.
template <class UserBatch>
class LoaderFeed {
 public:
  LoaderFeed(ConsumerOptions consumer, torch::data::DataLoaderOptions options, ExampleFields fields)
      : consumer_options_(std::move(consumer)),
        fields_(std::move(fields)),
        options_(options.drop_last(options.drop_last() || consumer_options_.tail == Tail::drop)),
        timeout_ms_(timeout_ms_of(options_)) {
    consumer_options_.batch_size = options_.batch_size;
    consumer_options_.tail = options_.drop_last ? Tail::drop : Tail::keep;
    attach();
  }

  /// Attaches if it has left.
  [[nodiscard]] Consumer& consumer() {
    if (!consumer_) attach();
    return *consumer_;
  }

  void leave() noexcept {
    if (!consumer_) return;
    left_ = {consumer_->cursor(), consumer_->epoch(), consumer_->stats()};
    in_epoch_ = false;
    ++loop_;
    consumer_.reset();
  }

  /// Its number; the loop before it is over.
  [[nodiscard]] std::uint64_t begin_loop() {
    static_cast<void>(consumer());
    leave_loop(loop_);
    return ++loop_;
  }

  /// The next batch of that loop; nothing once it is over.
  [[nodiscard]] torch::optional<UserBatch> next(std::uint64_t loop) {
    if (loop != loop_) return {};
    // What is thrown here leaves nothing: the cursor stays where a checkpoint needs it.
    in_epoch_ = false;
    NextBatch next;
    do {
      next = consumer_->try_next(timeout_ms_);
    } while (next.outcome == Outcome::timed_out && timeout_ms_ < 0);
    if (next.outcome == Outcome::timed_out) throw_timeout();
    if (next.outcome == Outcome::end_of_epoch) {
      ++loop_;
      return {};
    }
    in_epoch_ = true;
    return (*make_)(next.batch);
  }

  /// Lets go of the rest of its epoch, if it is in one.
  void leave_loop(std::uint64_t loop) noexcept {
    if (loop != loop_ || !std::exchange(in_epoch_, false)) return;
    consumer_->leave_epoch();
  }

  [[nodiscard]] const torch::data::FullDataLoaderOptions& options() const noexcept {
    return options_;
  }
  [[nodiscard]] torch::optional<std::size_t> samples_per_epoch() const noexcept {
    if (samples_per_epoch_ == 0) return {};
    return static_cast<std::size_t>(samples_per_epoch_);
  }
  [[nodiscard]] std::uint64_t cursor() const noexcept {
    return consumer_ ? consumer_->cursor() : left_.cursor;
  }
  [[nodiscard]] std::uint64_t epoch() const noexcept {
    return consumer_ ? consumer_->epoch() : left_.epoch;
  }
  [[nodiscard]] ConsumerStats stats() const noexcept {
    return consumer_ ? consumer_->stats() : left_.stats;
  }
  void check() const {
    if (consumer_) consumer_->check();
  }

 private:
  struct Left {
    std::uint64_t cursor = 0;
    std::uint64_t epoch = 0;
    ConsumerStats stats;
  };

  void attach() {
    Consumer consumer(consumer_options_);
    make_.emplace(field_table_of(consumer), fields_);
    samples_per_epoch_ = consumer.samples_per_epoch();
    if (consumer_options_.join == Join::at) consumer_options_.join = Join::rewind;
    consumer_.emplace(std::move(consumer));
  }

  [[noreturn]] void throw_timeout() const {
    TORCH_CHECK(false, "Timeout in SharedDataLoader while waiting for next batch of stream `",
                consumer_options_.stream, "` (timeout was ", timeout_ms_, " ms)");
  }

  ConsumerOptions consumer_options_;
  ExampleFields fields_;
  torch::data::FullDataLoaderOptions options_;
  int timeout_ms_;
  std::optional<Consumer> consumer_;
  std::optional<BatchMaker<UserBatch>> make_;
  std::uint64_t samples_per_epoch_ = 0;
  std::uint64_t loop_ = 0;
  bool in_epoch_ = false;  ///< the current loop has had a batch of an epoch that is not over
  Left left_;
};

}  // namespace batchcast::detail
