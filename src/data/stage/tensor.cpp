// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/stage/standard_stages.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/limits.hpp>

#include <algorithm>
#include <cstring>

namespace batchcast::inline v0_1::detail {
namespace {

constexpr std::int64_t extent_max = std::int64_t{1} << 48;

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return nlohmann::json(shape).dump();
}

/// Elements [start, stop) of the first axis; negative ones count from its end.
class SliceStage final : public TableStage<SliceStage, TensorStage> {
 public:
  static constexpr std::string_view stage_name = "slice";
  static void rows(auto& self, auto& table) {
    table("start", self.start_, Whole{-extent_max, extent_max});
    table("stop", self.stop_, Whole{-extent_max, extent_max});
  }
  void settle(StageParameters& given) {
    if (!stop_ || (start_ < 0) != (*stop_ < 0) || *stop_ > start_) return;
    given.refuse("stop", text("must be above `start`, which is {}, not {}", start_, *stop_));
  }
  [[nodiscard]] bool is_random() const noexcept override { return false; }
  [[nodiscard]] TensorSpec output(const TensorSpec& in) const override {
    if (in.shape.empty() || in.shape.front() < 1) {
      throw InvalidArgument(
          text("slice takes a part of the first axis, and {} has none of known length.",
               shape_text(in.shape)));
    }
    const std::int64_t extent = in.shape.front();
    const auto [first, last] = ends(extent);
    if (first < 0 || last > extent || first >= last) {
      throw InvalidArgument(text("slice from {} to {} is no part of the {} elements of {}.", start_,
                                 stop_ ? text("{}", *stop_) : "the end", extent,
                                 shape_text(in.shape)));
    }
    TensorSpec out = in;
    out.shape.front() = last - first;
    return out;
  }
  void run(std::span<const std::byte> in, std::span<std::byte> out,
           StageContext& context) const override {
    const std::int64_t extent = context.input().shape.front();
    const std::size_t row_bytes = in.size() / static_cast<std::size_t>(extent);
    const auto first = static_cast<std::size_t>(ends(extent).first);
    std::memcpy(out.data(), in.data() + first * row_bytes, out.size());
  }

 private:
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> ends(std::int64_t extent) const noexcept {
    const std::int64_t stop = stop_.value_or(extent);
    return {start_ < 0 ? start_ + extent : start_, stop < 0 ? stop + extent : stop};
  }
  std::int64_t start_ = 0;
  std::optional<std::int64_t> stop_;
};

class ReshapeStage final : public TableStage<ReshapeStage, TensorStage> {
 public:
  static constexpr std::string_view stage_name = "reshape";
  static void rows(auto& self, auto& table) {
    table("shape", self.shape_, Wholes{-1, extent_max},
          {.missing = "a list of extents, of which one may be -1"});
  }
  void settle(StageParameters& given) {
    if (shape_.size() > limits::dimensions_max) {
      given.refuse("shape", text("has {} dimensions, and at most {} can be", shape_.size(),
                                 limits::dimensions_max));
    }
    if (std::count(shape_.begin(), shape_.end(), 0) != 0) {
      given.refuse("shape", "must have extents above 0, of which one may be -1 for the rest");
    }
    if (std::count(shape_.begin(), shape_.end(), -1) > 1) {
      given.refuse("shape", "may have one -1, for the rest");
    }
  }
  [[nodiscard]] bool is_random() const noexcept override { return false; }
  [[nodiscard]] bool in_place() const noexcept override { return true; }
  [[nodiscard]] TensorSpec output(const TensorSpec& in) const override {
    std::uint64_t in_count = 1;
    for (const std::int64_t extent : in.shape) {
      if (extent < 1) {
        throw InvalidArgument(
            text("reshape needs an input of known size, not {}.", shape_text(in.shape)));
      }
      in_count *= static_cast<std::uint64_t>(extent);
    }
    std::uint64_t known = 1;
    bool fits = true;
    for (const std::int64_t extent : shape_) {
      if (extent < 0) continue;
      known *= static_cast<std::uint64_t>(extent);
      if (known > in_count) {
        fits = false;
        break;
      }
    }
    TensorSpec out{in.dtype, shape_};
    const auto open = std::find(out.shape.begin(), out.shape.end(), -1);
    fits = fits && (open == out.shape.end() ? known == in_count : in_count % known == 0);
    if (!fits) {
      throw InvalidArgument(text("reshape cannot make {} of {}: the numbers of elements differ.",
                                 shape_text(shape_), shape_text(in.shape)));
    }
    if (open != out.shape.end()) *open = static_cast<std::int64_t>(in_count / known);
    return out;
  }
  void run(std::span<const std::byte> /*in*/, std::span<std::byte> /*out*/,
           StageContext& /*context*/) const override {}

 private:
  std::vector<std::int64_t> shape_;
};

/// One number for each class: 1 where the class is among the ids, else 0.
class MultiHotStage final : public TableStage<MultiHotStage, TensorStage> {
 public:
  static constexpr std::string_view stage_name = "multi_hot";
  static void rows(auto& self, auto& table) {
    table("classes", self.classes_, Whole{1, classes_max}, {.missing = "how many there are"});
  }
  [[nodiscard]] bool is_random() const noexcept override { return false; }
  [[nodiscard]] TensorSpec output(const TensorSpec& in) const override {
    const bool is_list = in.dtype == DType::u8 && in.shape == std::vector<std::int64_t>{-1};
    if (!is_list && in.dtype != DType::i64) {
      throw InvalidArgument(
          text("multi_hot takes ids as i64, such as those of from = \"json:/labels\", not {}. Put "
               "{ stage = \"to\", dtype = \"i64\" } before it.",
               name_of(in.dtype)));
    }
    return {DType::f32, {classes_}};
  }
  void run(std::span<const std::byte> in, std::span<std::byte> out,
           StageContext& /*context*/) const override {
    if (in.size() % sizeof(std::int64_t) != 0) {
      throw BadSample("multi_hot takes ids, and its part is other bytes");
    }
    std::memset(out.data(), 0, out.size());
    for (std::size_t at = 0; at < in.size(); at += sizeof(std::int64_t)) {
      std::int64_t id = 0;
      std::memcpy(&id, in.data() + at, sizeof id);
      if (id < 0 || id >= classes_) {
        throw BadSample(text("it has the class {}, and multi_hot has classes = {}", id, classes_));
      }
      const float is_there = 1;
      std::memcpy(out.data() + static_cast<std::size_t>(id) * sizeof is_there, &is_there,
                  sizeof is_there);
    }
  }

 private:
  static constexpr std::int64_t classes_max = std::int64_t{1} << 24;
  std::int64_t classes_ = 0;
};

}  // namespace

void add_tensors(StandardStages& stages) {
  stages.add<MultiHotStage>();
  stages.add<SliceStage>();
  stages.add<ReshapeStage>();
}

}  // namespace batchcast::inline v0_1::detail
