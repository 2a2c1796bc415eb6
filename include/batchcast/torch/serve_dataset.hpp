// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/clock.hpp>
#include <batchcast/core/text.hpp>
#include <batchcast/data/maker.hpp>
#include <batchcast/data/order.hpp>
#include <batchcast/torch/serve_batch.hpp>
#include <batchcast/torch/serve_stream.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// Samples of a map-style dataset, which gives any of them. `Dataset` has get_batch(indices).
template <class Dataset>
class TorchDatasetMaker final : public SampleMaker {
 public:
  struct Options {
    OrderOptions order;
    ExampleNames names;
    bool copies = false;  ///< each worker has a copy of the dataset
  };

  /// The dataset, and the names, must outlive it. Makes a first sample to know the schema.
  TorchDatasetMaker(Dataset& dataset, const Options& options, std::string recipe_json)
      : dataset_(dataset),
        order_(options.order),
        names_(options.names),
        copies_(options.copies),
        recipe_json_(std::move(recipe_json)) {
    if constexpr (!std::is_copy_constructible_v<Dataset>) {
      if (copies_) {
        throw InvalidArgument(
            "batchcast: each of several workers has a copy of the dataset, and this one cannot be "
            "copied. Serve it with workers = 1.");
      }
    }
    schema_ = schema_of(fetch(dataset_, {order_.sample_id_at(0, 0)}));
  }

  [[nodiscard]] const Schema& schema() const noexcept override { return schema_; }
  [[nodiscard]] std::uint64_t samples_per_epoch() const noexcept override {
    return order_.samples_per_epoch();
  }
  [[nodiscard]] std::string recipe_json() const override { return recipe_json_; }
  [[nodiscard]] std::unique_ptr<SampleWorker> worker() const override {
    return std::make_unique<Worker>(*this);
  }

 private:
  class Worker final : public SampleWorker {
   public:
    explicit Worker(const TorchDatasetMaker& maker) : maker_(maker), dataset_(&maker.dataset_) {
      if constexpr (std::is_copy_constructible_v<Dataset>) {
        if (!maker.copies_) return;
        own_ = std::make_unique<Dataset>(maker.dataset_);
        dataset_ = own_.get();
      }
    }

    void make(const SampleSlots& slots) override {
      const std::uint64_t began_ns = now_ns();
      const EpochOrder order = maker_.order_.epoch(slots.epoch);
      indices_.resize(slots.size());
      for (std::size_t i = 0; i < slots.size(); ++i) {
        indices_[i] = order.index_at(slots.index_in_epoch + i);
        slots.sample_ids[i] = indices_[i];
      }
      const TorchColumns batch = fetch_all(slots);
      std::size_t field = 0;
      for (const TorchColumn& column : batch.columns) {
        if (column.name == sample_id_name) continue;  // the index is known
        copy_samples(column, 0, slots.size(), slots.fields[field++]);
      }
      make_ns_.fetch_add(now_ns() - began_ns, std::memory_order_relaxed);
    }
    [[nodiscard]] MakerTimes times() const noexcept override {
      return {0, make_ns_.load(std::memory_order_relaxed)};
    }

   private:
    /// Throws BadSample, which names the first sample that fails and why.
    [[nodiscard]] TorchColumns fetch_all(const SampleSlots& slots) {
      try {
        return maker_.fetch_checked(*dataset_, indices_);
      } catch (...) {
        find_culprit(slots);
        throw;  // alone, each of them succeeds
      }
    }
    void find_culprit(const SampleSlots& slots) {
      for (std::size_t i = 0; i < indices_.size(); ++i) {
        try {
          static_cast<void>(maker_.fetch_checked(*dataset_, {indices_[i]}));
        } catch (...) {
          const std::uint64_t index_in_epoch = slots.index_in_epoch + i;
          std::throw_with_nested(BadSample(text(
              "batchcast: sample {} of the dataset, at position {} of the stream (epoch {}): {}",
              indices_[i], slots.epoch * maker_.samples_per_epoch() + index_in_epoch, slots.epoch,
              text_for_consumers(std::current_exception()))));
        }
      }
    }

    const TorchDatasetMaker& maker_;
    std::unique_ptr<Dataset> own_;
    Dataset* dataset_;
    std::vector<std::size_t> indices_;
    std::atomic<std::uint64_t> make_ns_{0};
  };

  [[nodiscard]] TorchColumns fetch(Dataset& dataset,
                                   const std::vector<std::size_t>& indices) const {
    const auto batch = dataset.get_batch(typename Dataset::BatchRequestType(indices));
    TorchColumns columns = columns_of(batch, names_);
    if (columns.samples != indices.size()) {
      throw InvalidArgument(text("batchcast: the dataset was asked for {} samples and gave {}.",
                                 indices.size(), columns.samples));
    }
    return columns;
  }

  [[nodiscard]] TorchColumns fetch_checked(Dataset& dataset,
                                           const std::vector<std::size_t>& indices) const {
    TorchColumns columns = fetch(dataset, indices);
    check_same_schema(schema_, schema_of(columns));
    return columns;
  }

  Dataset& dataset_;
  Order order_;
  ExampleNames names_;
  bool copies_;
  std::string recipe_json_;
  Schema schema_;
};

}  // namespace batchcast::inline v0_1::detail
