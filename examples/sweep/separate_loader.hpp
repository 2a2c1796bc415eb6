// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "arguments.hpp"
#include "report.hpp"

#include <batchcast/batchcast.hpp>

#include <torch/torch.h>

#include <chrono>
#include <cstring>
#include <ctime>
#include <random>
#include <string>
#include <vector>

// What each trainer of a sweep does where no stream is shared: it has a torch::data loader over a
// copy of the dataset in its memory.
namespace sweep {

class Fashion : public torch::data::datasets::Dataset<Fashion> {
 public:
  /// `source` as `batchcast serve` takes it: `idx:DIR`.
  explicit Fashion(const std::string& source) {
    const auto files = batchcast::open_source(source);
    const auto samples = static_cast<std::int64_t>(files->size());
    images_ = torch::empty({samples, 1, 28, 28}, torch::kByte);
    labels_ = torch::empty({samples}, torch::kLong);
    batchcast::SampleParts parts;
    for (std::int64_t i = 0; i < samples; ++i) {
      files->read(static_cast<std::uint64_t>(i), parts);
      std::memcpy(images_[i].data_ptr(), parts[0].data(), parts[0].size());
      std::memcpy(labels_.data_ptr<std::int64_t>() + i, parts[1].data(), parts[1].size());
    }
  }

  torch::data::Example<> get(std::size_t index) override {
    const auto i = static_cast<std::int64_t>(index);
    return {images_[i], labels_[i]};
  }
  torch::optional<std::size_t> size() const override {
    return static_cast<std::size_t>(images_.size(0));
  }

 private:
  torch::Tensor images_;
  torch::Tensor labels_;
};

/// What examples/fashion-train.toml does to an image.
class Augmentation {
 public:
  explicit Augmentation(std::uint64_t seed) : random_(seed) {}

  torch::data::Example<> operator()(torch::data::Example<> example) {
    const torch::Tensor padded = torch::constant_pad_nd(example.data, {1, 1, 1, 1});
    torch::Tensor image = padded.narrow(1, below(3), 28).narrow(2, below(3), 28);
    if (below(2) == 1) image = image.flip(2);
    example.data = image.to(torch::kFloat).div_(255).sub_(0.1307).div_(0.3081);
    return example;
  }

 private:
  std::int64_t below(std::int64_t end) {
    return std::uniform_int_distribution<std::int64_t>(0, end - 1)(random_);
  }

  std::mt19937_64 random_;
};

/// Makes batches for this many seconds, does not use them, and prints a LoaderReport.
inline void run_separate_loader(Arguments arguments) {
  const std::string source = arguments.word("SOURCE");
  const auto batch_size = arguments.number<std::size_t>("batch-size", 64);
  const auto seconds = arguments.number("seconds", 10.0);
  const auto seed = arguments.number<std::uint64_t>("seed", 1);
  arguments.finish();
  torch::set_num_threads(1);
  torch::manual_seed(seed);
  namespace data = torch::data;
  auto loader =
      data::make_data_loader(Fashion(source)
                                 .map(data::transforms::Lambda<data::Example<>>(Augmentation(seed)))
                                 .map(data::transforms::Stack<>()),
                             data::DataLoaderOptions(batch_size));

  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  const std::clock_t cpu_before = std::clock();
  LoaderReport report;
  while (Clock::now() < end) {
    for (const auto& batch : *loader) {
      report.samples += static_cast<std::uint64_t>(batch.data.size(0));
      if (Clock::now() >= end) break;
    }
  }
  report.cpu_seconds = static_cast<double>(std::clock() - cpu_before) / CLOCKS_PER_SEC;
  print(report);
}

}  // namespace sweep
