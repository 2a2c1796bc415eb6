// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/consumer.hpp>
#include <batchcast/core/placement.hpp>
#include <batchcast/torch/batch.hpp>
#include <batchcast/torch/cow_storage.hpp>
#include <batchcast/torch/stream.hpp>

#include <torch/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace batchcast::inline v0_1::detail {

/// A loader's or dataset's consumer, and how its batches become a UserBatch. It can leave, and
/// attaches again when it is needed. On a GPU, or pinned, its batches are used on the stream that
/// is current on the thread that asks for them. One thread at a time uses it.
template <class UserBatch>
class TorchConsumer {
 public:
  TorchConsumer(ConsumerOptions options, ExampleFields fields)
      : options_(std::move(options)), fields_(std::move(fields)) {}

  [[nodiscard]] bool attached() const noexcept { return consumer_.has_value(); }
  /// Attaches if necessary.
  [[nodiscard]] Consumer& get() {
    sweep_released_clones();  // the consumer may need their places next
    if (!consumer_) attach(options_);
    if (uses_a_gpu()) consumer_->set_cuda_stream(current_stream());
    return *consumer_;
  }
  /// The consumer, while attached.
  [[nodiscard]] const Consumer& present() const noexcept { return *consumer_; }
  [[nodiscard]] UserBatch make(const Batch& batch) const { return (*make_)(batch); }
  void leave() noexcept { consumer_.reset(); }
  /// It calls nothing of libtorch that might throw: loops end in destructors.
  void leave_epoch() noexcept {
    if (consumer_) consumer_->leave_epoch();
  }
  /// Attaches at that position, this once, and leaves its present place. Keeps it if that throws.
  void move_to(RowPlace cursor) {
    ConsumerOptions there = options_;
    there.join = Join::at;
    there.cursor = cursor.position;
    there.cursor_row = cursor.row;
    attach(there);
  }
  [[nodiscard]] const ConsumerOptions& options() const noexcept { return options_; }

 private:
  [[nodiscard]] bool uses_a_gpu() const noexcept {
    return !options_.placement.is_host() || options_.pin;
  }
  /// A trainer that pins with a libtorch without CUDA names its stream itself.
  [[nodiscard]] void* current_stream() const {
    if (!options_.placement.is_host()) return current_stream_on(options_.placement);
    if (!torch_has_cuda()) return nullptr;
    return current_stream_on(Placement::on_cuda(options_.pin_device));
  }

  void attach(ConsumerOptions options) {
    options.placement = options_.placement = settled_by_torch(options_.placement);
    if (!options.placement.is_host()) use_cuda_of_torch(options.placement);
    Consumer consumer(options);
    BatchMaker<UserBatch> make(field_table_of(consumer), fields_);
    // A cursor says where the first loop begins; a consumer that attaches again follows the stream.
    if (options_.join == Join::at) {
      options_.join = Join::rewind;
      options_.cursor = options_.cursor_row = 0;
    }
    make_.emplace(std::move(make));
    consumer_.emplace(std::move(consumer));
  }

  ConsumerOptions options_;
  ExampleFields fields_;
  std::optional<Consumer> consumer_;
  std::optional<BatchMaker<UserBatch>> make_;
};

/// The size as torch's datasets give it: nothing where it is not known beforehand.
[[nodiscard]] inline torch::optional<std::size_t> size_of_epoch(std::uint64_t samples) noexcept {
  if (samples == 0) return {};
  return torch::optional<std::size_t>(samples);
}

}  // namespace batchcast::inline v0_1::detail
