// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/data/synthetic_maker.hpp>

#include <batchcast/core/clock.hpp>

#include <atomic>
#include <cstring>
#include <utility>

namespace batchcast::inline v0_1 {
namespace {

class SyntheticWorker final : public SampleWorker {
 public:
  SyntheticWorker(const SyntheticRecipe& recipe, const Order& order)
      : recipe_(recipe), order_(order), image_bytes_(recipe.byte_count(recipe.image_field)) {}

  void make(const SampleSlots& slots) override {
    const std::uint64_t began_ns = now_ns();
    const EpochOrder order = order_.epoch(slots.epoch);
    const FieldSlots& image = slots.fields[SyntheticRecipe::image_field];
    const FieldSlots& label = slots.fields[SyntheticRecipe::label_field];
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const std::uint64_t id = order.index_at(slots.index_in_epoch + i);
      slots.sample_ids[i] = id;
      fill_synthetic({recipe_.seed, slots.epoch, id}, recipe_.dtype,
                     {image.data + i * image.stride_bytes, image_bytes_});
      const std::int64_t value = synthetic_label(recipe_.seed, id);
      std::memcpy(label.data + i * label.stride_bytes, &value, sizeof value);
    }
    make_ns_.fetch_add(now_ns() - began_ns, std::memory_order_relaxed);
  }

  [[nodiscard]] MakerTimes times() const noexcept override {
    return {0, make_ns_.load(std::memory_order_relaxed)};
  }

 private:
  const SyntheticRecipe& recipe_;
  const Order& order_;
  std::size_t image_bytes_;
  std::atomic<std::uint64_t> make_ns_{0};
};

SyntheticRecipe checked(SyntheticRecipe recipe) {
  recipe.check();
  return recipe;
}

}  // namespace

SyntheticMaker::SyntheticMaker(SyntheticRecipe recipe)
    : recipe_(checked(std::move(recipe))),
      schema_(recipe_.schema()),
      order_({.samples_per_epoch = recipe_.samples_per_epoch,
              .seed = recipe_.seed,
              .mode = recipe_.order}) {}

bool SyntheticMaker::know_ids(std::uint64_t epoch, std::uint64_t index,
                              std::span<std::uint64_t> ids) const {
  const EpochOrder order = order_.epoch(epoch);
  for (std::uint64_t& id : ids) id = order.index_at(index++);
  return true;
}

std::unique_ptr<SampleWorker> SyntheticMaker::worker() const {
  return std::make_unique<SyntheticWorker>(recipe_, order_);
}

}  // namespace batchcast::inline v0_1
