// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/checkpoint.hpp>
#include <batchcast/consumer.hpp>
#include <batchcast/core/text.hpp>
#include <batchcast/torch/batch.hpp>
#include <batchcast/torch/torch_consumer.hpp>

#include <torch/types.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

namespace batchcast::inline v0_1::detail {

/// What all handles to one SharedDataset share. Thread-safe: a worker waits for a batch with the
/// first lock. A thread that only asks where the dataset stands takes just the second.
template <class UserBatch>
class DatasetFeed {
 public:
  DatasetFeed(ConsumerOptions options, ExampleFields fields)
      : consumer_(with_any_batch_size(std::move(options)), std::move(fields)) {}

  [[nodiscard]] torch::optional<UserBatch> next(std::size_t batch_size) {
    const std::lock_guard lock(fetching_);
    if (epoch_is_over_) return {};
    Consumer& consumer = attach();
    if (consumer.batch_size() != batch_size) change_batch_size(consumer, batch_size);
    in_epoch_ = false;  // an exception here does not leave the epoch
    std::optional<Batch> batch = consumer.next();
    note(consumer);
    epoch_is_over_ = !batch;
    in_epoch_ = batch.has_value();
    if (!batch) return {};
    return consumer_.make(*batch);
  }

  /// Makes the next call of `next` begin an epoch, or continue one that a checkpoint or an
  /// exception interrupted.
  void begin_epoch() {
    const std::lock_guard lock(fetching_);
    Consumer& consumer = attach();
    epoch_is_over_ = false;
    if (!std::exchange(in_epoch_, false)) return;
    consumer.leave_epoch();
    note(consumer);
  }

  [[nodiscard]] bool has_next_epoch() {
    const std::lock_guard lock(fetching_);
    return attach().has_next_epoch();
  }

  /// Attaches if necessary.
  [[nodiscard]] Checkpoint checkpoint() {
    {
      const std::lock_guard lock(noting_);
      if (noted_) return *noted_;
    }
    const std::lock_guard lock(fetching_);
    static_cast<void>(attach());
    const std::lock_guard note_lock(noting_);
    return *noted_;
  }

  void go_to(const Checkpoint& saved) {
    const std::lock_guard lock(fetching_);
    if (is_rank() && consumer_.attached()) {
      throw InvalidArgument(
          text("batchcast: a rank of a group loads a checkpoint before it is first used: the ranks "
               "begin together, and {} has begun. Call leave() on all ranks before.",
               name_of_group()));
    }
    // This comes first: moving to a position that another stream lacks would fail with a message
    // about the position only.
    ConsumerOptions looking = consumer_.options();
    looking.observes = true;
    looking.group = {};
    looking.pin = false;  // it looks at no sample
    {
      const Consumer onlooker(looking);
      check_same_samples(saved, checkpoint_of(onlooker, looking.stream), looking.log);
    }  // while it observes, the stream would not go back
    consumer_.move_to({saved.cursor, saved.cursor_row});
    forget();
    note(consumer_.get());
  }

  void leave() noexcept {
    const std::lock_guard lock(fetching_);
    consumer_.leave();
    forget();
  }

 private:
  /// Each request brings the batch size. Only a group's ranks agree on it when they attach.
  [[nodiscard]] static ConsumerOptions with_any_batch_size(ConsumerOptions options) {
    const bool is_rank = options.group.world != 0 || options.group.automatic;
    if (!is_rank && !options.window.is_set()) options.batch_size = 1;
    return options;
  }

  [[nodiscard]] bool is_rank() const noexcept {
    const Group& group = consumer_.options().group;
    return group.world != 0 || group.automatic;
  }
  [[nodiscard]] std::string name_of_group() const {
    return text("`{}`", consumer_.present().group().name);
  }

  void change_batch_size(Consumer& consumer, std::size_t batch_size) const {
    if (consumer.window().is_set()) return;  // a batch has its runs
    if (!is_rank() || batch_size == 0) return consumer.set_batch_size(batch_size);
    throw InvalidArgument(
        text("batchcast: the loader asks for batches of {}, and this rank of {} attached for "
             "batches of {}. Give ConsumerOptions::batch_size and the loader the same number: that "
             "of one rank's part.",
             batch_size, name_of_group(), consumer.batch_size()));
  }

  [[nodiscard]] Consumer& attach() {
    const bool attaches = !consumer_.attached();
    Consumer& consumer = consumer_.get();
    if (attaches) note(consumer);
    return consumer;
  }

  void note(const Consumer& consumer) {
    const std::lock_guard lock(noting_);
    if (noted_) {
      noted_->cursor = consumer.cursor();
      noted_->cursor_row = consumer.cursor_row();
    } else {
      noted_ = checkpoint_of(consumer, consumer_.options().stream);
    }
  }

  void forget() noexcept {
    const std::lock_guard lock(noting_);
    noted_.reset();
    in_epoch_ = epoch_is_over_ = false;
  }

  std::mutex fetching_;
  TorchConsumer<UserBatch> consumer_;
  bool in_epoch_ = false;            ///< the epoch is not over, and batches of it were handed out
  bool epoch_is_over_ = false;       ///< until the next epoch begins
  std::mutex noting_;                ///< taken after `fetching_`
  std::optional<Checkpoint> noted_;  ///< while attached
};

}  // namespace batchcast::inline v0_1::detail
