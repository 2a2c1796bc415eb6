// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/consumer.hpp>
#include <batchcast/torch/batch.hpp>
#include <batchcast/torch/loader_feed.hpp>

#include <torch/data/dataloader_options.h>
#include <torch/data/example.h>
#include <torch/data/iterator.h>

#include <concepts>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>

namespace batchcast::inline v0_1 {
namespace detail {

/// torch's iterator, except that it drops the batch before it fetches the next one, which may need
/// its place in the ring.
template <class UserBatch>
class SharedIterator final : public torch::data::detail::ValidIterator<UserBatch> {
 public:
  using Feed = LoaderFeed<UserBatch>;

  explicit SharedIterator(std::shared_ptr<Feed> feed) : SharedIterator(feed, feed->begin_loop()) {}
  SharedIterator(const SharedIterator&) = delete;
  SharedIterator& operator=(const SharedIterator&) = delete;
  ~SharedIterator() override {
    this->batch_.reset();
    feed_->leave_loop(loop_, std::uncaught_exceptions() > exceptions_);
  }

  void next() override {
    const bool fetches_again = fetching_ && !this->initialized_;
    if (!fetches_again) {
      this->lazy_initialize();
      TORCH_CHECK(this->batch_.has_value(), "Attempted to increment iterator past the end");
    }
    this->batch_.reset();
    this->initialized_ = false;
    fetching_ = true;  // after an exception the next use of the iterator fetches again
    this->lazy_initialize();
    fetching_ = false;
  }

 private:
  SharedIterator(std::shared_ptr<Feed> feed, std::uint64_t loop)
      : torch::data::detail::ValidIterator<UserBatch>(
            [feed = feed.get(), loop] { return feed->next(loop); }),
        feed_(std::move(feed)),
        loop_(loop) {}

  std::shared_ptr<Feed> feed_;
  std::uint64_t loop_;
  bool fetching_ = false;
  int exceptions_ = std::uncaught_exceptions();  ///< where the loop began
};

}  // namespace detail

/// Takes the place of torch's data loader, and its batches from a stream. Each loop over it is one
/// epoch. Leaving a loop early, or beginning another one, skips the rest of its epoch. In a group
/// that is not so where an exception leaves the loop (see Consumer::begin). When the stream is
/// over, it throws what Consumer throws. When `options().timeout` is up, it throws a c10::Error as
/// torch's loader does. Then the same iterator, or a new loop, continues with the batch that did
/// not come.
///
/// One thread at a time may use it, not only the thread that made it. Iterators may outlive it, and
/// are over then. Batches and their tensors may outlive it, and the producer. After fork() the
/// child cannot use it.
template <class UserBatch = torch::data::Example<>>
class SharedDataLoader {
 public:
  using BatchType = UserBatch;

  /// Attaches. `batch_size` and `timeout` come from `options`. The last batch is dropped if either
  /// of the two options says so. torch's other options have no meaning here, where no worker makes
  /// batches. Throws what Consumer's constructor throws, and InvalidArgument where UserBatch does
  /// not take the stream's fields.
  SharedDataLoader(ConsumerOptions consumer, torch::data::DataLoaderOptions options,
                   ExampleFields fields = {})
      : feed_(std::make_shared<Feed>(std::move(consumer), std::move(options), std::move(fields))) {}
  ~SharedDataLoader() { join(); }
  SharedDataLoader(const SharedDataLoader&) = delete;
  SharedDataLoader& operator=(const SharedDataLoader&) = delete;

  /// Begins a loop. The first look at its first batch waits for it.
  [[nodiscard]] torch::data::Iterator<UserBatch> begin() {
    return torch::data::Iterator<UserBatch>(
        std::make_unique<detail::SharedIterator<UserBatch>>(feed_));
  }
  [[nodiscard]] torch::data::Iterator<UserBatch> end() {
    return torch::data::Iterator<UserBatch>(
        std::make_unique<torch::data::detail::SentinelIterator<UserBatch>>());
  }

  /// Leaves the stream. The next call that needs it attaches again as the constructor did, except
  /// for a cursor, which says where the first loop begins.
  void join() noexcept { feed_->leave(); }

  [[nodiscard]] const torch::data::FullDataLoaderOptions& options() const noexcept {
    return feed_->options();
  }
  /// Samples of an epoch; nothing where that is not known beforehand.
  [[nodiscard]] torch::optional<std::size_t> size() const { return feed_->size(); }

  /// Whether another epoch follows. Waits until that is known.
  [[nodiscard]] bool has_next_epoch() { return feed_->consumer().has_next_epoch(); }
  /// The position after the last sample delivered: save it in a checkpoint, for join = at.
  [[nodiscard]] std::uint64_t cursor() const noexcept { return feed_->cursor(); }
  /// With a window: inside the sample there, the row after the last one delivered.
  [[nodiscard]] std::uint64_t cursor_row() const noexcept { return feed_->cursor_row(); }
  /// The epoch that the next batch belongs to.
  [[nodiscard]] std::uint64_t epoch() const noexcept { return feed_->epoch(); }
  [[nodiscard]] ConsumerStats stats() const noexcept { return feed_->stats(); }
  /// Throws Revoked if the producer evicted this loader: its last batch may have been overwritten.
  void check() const { feed_->check(); }
  /// The consumer, for everything else, such as changing the batch size. The loader owns it;
  /// batches taken from it directly are missing from the loop.
  [[nodiscard]] Consumer& consumer() { return feed_->consumer(); }

 private:
  using Feed = detail::LoaderFeed<UserBatch>;

  std::shared_ptr<Feed> feed_;
};

/// Takes the place of torch::data::make_data_loader.
template <class UserBatch = torch::data::Example<>>
[[nodiscard]] std::unique_ptr<SharedDataLoader<UserBatch>> make_shared_data_loader(
    ConsumerOptions consumer, torch::data::DataLoaderOptions options, ExampleFields fields = {}) {
  return std::make_unique<SharedDataLoader<UserBatch>>(std::move(consumer), std::move(options),
                                                       std::move(fields));
}

/// Makes a loader with the batch size of the consumer's options.
template <class UserBatch = torch::data::Example<>>
[[nodiscard]] std::unique_ptr<SharedDataLoader<UserBatch>> make_shared_data_loader(
    ConsumerOptions consumer) {
  const torch::data::DataLoaderOptions options(consumer.batch_size);
  return make_shared_data_loader<UserBatch>(std::move(consumer), options);
}

/// Makes a loader by the stream's name. torch's batch size is 1 unless the options say another. It
/// is a template, so that options in braces are never taken for a name.
template <class UserBatch = torch::data::Example<>, std::convertible_to<std::string> Name>
[[nodiscard]] std::unique_ptr<SharedDataLoader<UserBatch>> make_shared_data_loader(
    const Name& stream, torch::data::DataLoaderOptions options = {}, ExampleFields fields = {}) {
  ConsumerOptions consumer;
  consumer.stream = stream;
  return make_shared_data_loader<UserBatch>(std::move(consumer), std::move(options),
                                            std::move(fields));
}

}  // namespace batchcast::inline v0_1
