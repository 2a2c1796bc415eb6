// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "torch_catch.hpp"

#include <batchcast/torch_serve.hpp>

#include "filled_stream.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace batchcast::testing {

inline constexpr std::int64_t pixels = 16;

/// Sample i of every epoch: pixels i, i + 0.25, …, of label i % 10.
[[nodiscard]] inline float pixel_at(std::uint64_t sample, std::size_t k) {
  return static_cast<float>(sample) + 0.25F * static_cast<float>(k);
}
[[nodiscard]] inline std::int64_t label_at(std::uint64_t sample) {
  return static_cast<std::int64_t>(sample % 10);
}

/// A ring of this size holds 512 samples of `served_schema()`.
inline constexpr std::uint64_t small_memory = 48 << 10;

[[nodiscard]] inline Schema served_schema() {
  return {{"image", DType::f32, {1, 4, 4}}, {"label", DType::i64, {}}};
}

/// What a test changes about its stream.
struct Serving {
  std::uint64_t samples_per_epoch = 10;
  std::uint64_t epochs = 0;
  std::uint64_t memory = small_memory;
  Schema schema = served_schema();
  std::string recipe_json = {};
  std::string stream = "served";
};

/// A producer in a thread, whose samples are as `pixel_at` and `label_at` say, in order. Fields of
/// other names keep what the ring holds.
class ServedStream {
 public:
  explicit ServedStream(const Serving& serving = {}, std::string directory = {})
      : directory_(directory.empty() ? folder_.path() : std::move(directory)),
        stream_(serving.stream),
        producer_({.stream = serving.stream,
                   .schema = serving.schema,
                   .memory = serving.memory,
                   .samples_per_epoch = serving.samples_per_epoch,
                   .epochs = serving.epochs,
                   .linger_ms = 0,
                   .recipe_json = serving.recipe_json,
                   .pure = !serving.recipe_json.empty(),
                   .directory = directory_,
                   .log = [](LogLevel, std::string_view) {}}),
        thread_([this] { serve(); }) {}
  ~ServedStream() {
    producer_.stop("the test is over");
    thread_.join();
  }
  ServedStream(const ServedStream&) = delete;
  ServedStream& operator=(const ServedStream&) = delete;

  [[nodiscard]] Producer& producer() noexcept { return producer_; }
  [[nodiscard]] const std::string& directory() const noexcept { return directory_; }
  [[nodiscard]] ConsumerOptions options() const {
    return {.stream = stream_,
            .connect_timeout_ms = 10'000,
            .directory = directory_,
            .log = [](LogLevel, std::string_view) {}};
  }

  static void fill(const Loan& loan, const Schema& schema) {
    for (std::size_t field = 0; field < schema.size(); ++field) {
      for (std::size_t i = 0; i < loan.size(); ++i) {
        const std::uint64_t sample = loan.index_in_epoch() + i;
        if (schema[field].name == "image") {
          const auto row = loan.field<float>(field)[i];
          for (std::size_t k = 0; k < row.size(); ++k) row[k] = pixel_at(sample, k);
        } else if (schema[field].name == "label") {
          loan.field<std::int64_t>(field)[i][0] = label_at(sample);
        }
      }
    }
  }

 private:
  void serve() {
    while (auto loan = producer_.loan(16)) {
      fill(*loan, producer_.schema());
      loan->publish();
    }
    producer_.finish(0);
  }

  StreamFolder folder_;
  std::string directory_;
  std::string stream_;
  Producer producer_;
  std::thread thread_;
};

/// The same samples in memory, for torch's own loader.
class InMemory : public torch::data::datasets::Dataset<InMemory> {
 public:
  explicit InMemory(std::size_t samples) : samples_(samples) {}
  torch::data::Example<> get(std::size_t index) override {
    at::Tensor image = torch::empty({1, 4, 4});
    for (std::size_t k = 0; k < static_cast<std::size_t>(pixels); ++k) {
      image.data_ptr<float>()[k] = pixel_at(index, k);
    }
    return {image, torch::tensor(label_at(index))};
  }
  torch::optional<std::size_t> size() const override { return samples_; }

 private:
  std::size_t samples_;
};

/// Everything of a batch that a trainer can see.
struct Seen {
  std::vector<std::int64_t> data_sizes;
  std::vector<float> data;
  std::vector<std::int64_t> targets;
  friend bool operator==(const Seen&, const Seen&) = default;
};

inline std::ostream& operator<<(std::ostream& out, const Seen& seen) {
  out << "[";
  for (const std::int64_t size : seen.data_sizes) out << size << " ";
  out << "] from " << (seen.data.empty() ? -1.0F : seen.data.front()) << ", targets";
  for (const std::int64_t target : seen.targets) out << " " << target;
  return out << "\n";
}

[[nodiscard]] inline Seen see(const at::Tensor& data, const at::Tensor& target) {
  Seen seen;
  seen.data_sizes = data.sizes().vec();
  const at::Tensor flat = data.contiguous();
  const at::Tensor targets = target.contiguous();
  const auto* const first = static_cast<const float*>(address_of(flat));
  seen.data.assign(first, first + flat.numel());
  const auto* const first_target = static_cast<const std::int64_t*>(address_of(targets));
  seen.targets.assign(first_target, first_target + targets.numel());
  return seen;
}
[[nodiscard]] inline Seen see(const torch::data::Example<>& example) {
  return see(example.data, example.target);
}
[[nodiscard]] inline Seen see(const std::vector<torch::data::Example<>>& examples) {
  std::vector<at::Tensor> data;
  std::vector<at::Tensor> targets;
  for (const auto& example : examples) {
    data.push_back(example.data);
    targets.push_back(example.target);
  }
  return see(torch::stack(data), torch::stack(targets));
}

/// What samples [first, first + count) of an epoch look like.
[[nodiscard]] inline Seen expected(std::uint64_t first, std::uint64_t count) {
  Seen seen;
  seen.data_sizes = {static_cast<std::int64_t>(count), 1, 4, 4};
  for (std::uint64_t i = first; i < first + count; ++i) {
    for (std::size_t k = 0; k < pixels; ++k) seen.data.push_back(pixel_at(i, k));
    seen.targets.push_back(label_at(i));
  }
  return seen;
}

}  // namespace batchcast::testing
