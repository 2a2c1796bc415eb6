// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/checkpoint.hpp>
#include <batchcast/consumer.hpp>
#include <batchcast/core/text.hpp>
#include <batchcast/torch/batch.hpp>
#include <batchcast/torch/dataset_feed.hpp>

#include <ATen/core/ivalue.h>
#include <torch/data/datasets/stateful.h>
#include <torch/data/example.h>
#include <torch/serialize/archive.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace batchcast::inline v0_1 {
namespace detail {

inline constexpr std::int64_t archive_version = 1;

inline void write(torch::serialize::OutputArchive& archive, const Checkpoint& checkpoint) {
  const auto number = [](std::uint64_t value) {
    return c10::IValue(static_cast<std::int64_t>(value));
  };
  archive.write("batchcast_checkpoint", c10::IValue(archive_version));
  archive.write("cursor", number(checkpoint.cursor));
  archive.write("cursor_row", number(checkpoint.cursor_row));
  archive.write("stream", c10::IValue(checkpoint.stream));
  archive.write("recipe_json", c10::IValue(checkpoint.recipe_json));
  archive.write("schema_json", c10::IValue(checkpoint.schema_json));
  archive.write("samples_per_epoch", number(checkpoint.samples_per_epoch));
  archive.write("identity", c10::IValue(checkpoint.identity));
  archive.write("incarnation", c10::IValue(checkpoint.incarnation));
}

[[nodiscard]] inline Checkpoint read_checkpoint(torch::serialize::InputArchive& archive) {
  const auto refuse = [](const std::string& why) {
    throw InvalidArgument(
        text("batchcast: this archive is no checkpoint of a SharedDataset: {}. Load what "
             "torch::save(dataset, …) wrote.",
             why));
  };
  const auto value_of = [&](const char* key) {
    c10::IValue value;
    if (!archive.try_read(key, value)) refuse(text("it has no `{}`", key));
    return value;
  };
  const auto number = [&](const char* key) {
    const c10::IValue value = value_of(key);
    if (!value.isInt() || value.toInt() < 0) {
      refuse(text("its `{}` is no number of samples", key));
    }
    return static_cast<std::uint64_t>(value.toInt());
  };
  const auto text_of = [&](const char* key, const c10::IValue& value) {
    if (!value.isString()) refuse(text("its `{}` is no text", key));
    return value.toStringRef();
  };
  const auto words = [&](const char* key) { return text_of(key, value_of(key)); };
  const auto number_if_there = [&](const char* key) {
    c10::IValue value;
    return archive.try_read(key, value) ? number(key) : 0;
  };
  const auto text_if_there = [&](const char* key) {
    c10::IValue value;
    return archive.try_read(key, value) ? text_of(key, value) : std::string();
  };
  const std::uint64_t version = number("batchcast_checkpoint");
  if (version != archive_version) {
    refuse(
        text("it is of version {}, and this library reads version {}", version, archive_version));
  }
  return {.cursor = number("cursor"),
          .stream = words("stream"),
          .recipe_json = words("recipe_json"),
          .schema_json = words("schema_json"),
          .samples_per_epoch = number("samples_per_epoch"),
          .identity = text_if_there("identity"),
          .incarnation = text_if_there("incarnation"),
          .cursor_row = number_if_there("cursor_row")};
}

}  // namespace detail

/// A stream as a dataset for torch::data::make_data_loader, with and without workers, also under
/// `map`. It is a handle: copies share one consumer, so keep one to save checkpoints with. It
/// attaches on first use, and leaves with the last handle, or when you call `leave`.
///
/// `torch::save(dataset, file)` keeps where it stands, and `torch::load(dataset, file)` continues
/// there: after the last batch that the loader got. With workers that is up to `max_jobs` batches
/// more than the loop has seen; without, it is exact. One worker fetches at a time, and with
/// several the loader may see batches in another order.
///
/// Batches hold their place in the ring from when they are fetched: it has to have room for
/// max_jobs + 2 of them. Thread-safe. Throws what Consumer throws; torch wraps an exception of a
/// worker into WorkerException.
template <class UserBatch = torch::data::Example<>>
class SharedDataset final
    : public torch::data::datasets::StatefulDataset<SharedDataset<UserBatch>, UserBatch> {
 public:
  /// The loader says the batch size. In a group the consumer's has to be the same.
  explicit SharedDataset(ConsumerOptions consumer, ExampleFields fields = {})
      : feed_(std::make_shared<Feed>(std::move(consumer), std::move(fields))) {}
  template <std::convertible_to<std::string> Name>
  explicit SharedDataset(const Name& stream, ExampleFields fields = {})
      : SharedDataset(named(stream), std::move(fields)) {}

  /// The next batch of the epoch; nothing once it is over, until `reset`. Each may have another
  /// size. Throws InvalidArgument for 0, RingTooSmall for more than the ring spans.
  torch::optional<UserBatch> get_batch(std::size_t batch_size) override {
    return feed_->next(batch_size);
  }
  /// Begins the next epoch, as a loader does for each loop. It skips the rest of an epoch whose
  /// loop was left, and continues one that `load` or an exception interrupted.
  void reset() override { feed_->begin_epoch(); }

  /// Samples of an epoch; nothing where that is not known beforehand.
  torch::optional<std::size_t> size() const override {
    return detail::size_of_epoch(feed_->checkpoint().samples_per_epoch);
  }
  /// Whether another epoch follows. Waits until that is known.
  [[nodiscard]] bool has_next_epoch() { return feed_->has_next_epoch(); }
  /// The position after the last sample handed out.
  [[nodiscard]] std::uint64_t cursor() const { return feed_->checkpoint().cursor; }
  /// Leaves the stream, for all handles. The next use attaches again.
  void leave() noexcept { feed_->leave(); }

  /// May be called from any thread; waits for no batch.
  void save(torch::serialize::OutputArchive& archive) const override {
    detail::write(archive, feed_->checkpoint());
  }
  /// Attaches at the saved position. Call it between loops; in a group, on each rank before its
  /// first loop. Throws InvalidArgument if the archive is not of a SharedDataset, and
  /// RecipeMismatch if the stream's samples are not those that were saved. Throws Refused if the
  /// ring no longer has that position (with `let_go`, the next loop throws that).
  void load(torch::serialize::InputArchive& archive) override {
    feed_->go_to(detail::read_checkpoint(archive));
  }

 private:
  using Feed = detail::DatasetFeed<UserBatch>;

  [[nodiscard]] static ConsumerOptions named(const std::string& stream) {
    ConsumerOptions options;
    options.stream = stream;
    return options;
  }

  std::shared_ptr<Feed> feed_;
};

}  // namespace batchcast::inline v0_1
