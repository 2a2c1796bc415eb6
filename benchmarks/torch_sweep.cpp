// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// One trainer of a sweep whose step is small: the mean of 7x7 pixels, one linear layer. It takes a
// stream, or decodes the JPEGs of a folder itself, with a torch data loader and OpenCV. Measures
// from a given second of the clock on, and prints `SAMPLES_PER_SECOND CPU_SECONDS_PER_SECOND` of
// all its threads. Usage: torch_sweep (stream NAME | files FOLDER WORKERS) --begin-at EPOCH_SECOND
// --seconds S
#include <batchcast/torch.hpp>

#include "peers/opencv_image.hpp"

#include <ATen/Parallel.h>
#include <torch/torch.h>

#include <sys/resource.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace bc = batchcast;

namespace {

using Clock = std::chrono::system_clock;  // all trainers begin at the same time of day
using Example = torch::data::Example<>;

constexpr std::size_t batch_size = 64;

struct Options {
  std::string kind;
  std::string from;
  std::size_t workers = 1;
  double begin_at = 0;
  double seconds = 10;
};

Options parse(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  std::map<std::string, double> numbers;
  while (words.size() >= 2 && words[words.size() - 2].starts_with("--")) {
    numbers[words[words.size() - 2]] = std::stod(words.back());
    words.resize(words.size() - 2);
  }
  Options options;
  const bool files = words.size() == 3 && words[0] == "files";
  if ((!files && (words.size() != 2 || words[0] != "stream")) || !numbers.contains("--begin-at") ||
      !numbers.contains("--seconds")) {
    throw std::invalid_argument(
        "usage: torch_sweep (stream NAME | files FOLDER WORKERS) "
        "--begin-at EPOCH_SECOND --seconds S");
  }
  options.kind = words[0];
  options.from = words[1];
  if (files) options.workers = std::stoul(words[2]);
  options.begin_at = numbers["--begin-at"];
  options.seconds = numbers["--seconds"];
  return options;
}

/// A folder of classes, as a trainer of torch's would write it.
class Jpegs : public torch::data::datasets::Dataset<Jpegs> {
 public:
  explicit Jpegs(const std::string& folder)
      : paths_(peers::list_images(folder)), random_(std::random_device{}()) {
    std::map<std::string, std::int64_t> classes;
    for (const std::string& path : paths_) {
      const std::string name = std::filesystem::path(path).parent_path().filename();
      const auto number = static_cast<std::int64_t>(classes.size());
      labels_.push_back(classes.try_emplace(name, number).first->second);
    }
  }
  Example get(std::size_t index) override {
    torch::Tensor image = torch::empty({3, peers::crop_side, peers::crop_side});
    cropper_.make(paths_[index], random_, image.data_ptr<float>());
    return {image, torch::tensor(labels_[index])};
  }
  torch::optional<std::size_t> size() const override { return paths_.size(); }

 private:
  std::vector<std::string> paths_;
  std::vector<std::int64_t> labels_;
  peers::Random random_;
  peers::ImageCropper cropper_;
};

class Trainer {
 public:
  void step(const Example& batch) {
    sgd_.zero_grad();
    const torch::Tensor small = torch::avg_pool2d(batch.data, 7).flatten(1);
    torch::cross_entropy_loss(linear_(small), batch.target).backward();
    sgd_.step();
  }

 private:
  torch::nn::Linear linear_{3 * 32 * 32, 10};
  torch::optim::SGD sgd_{linear_->parameters(), 0.01};
};

double now() { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

class Measurement {
 public:
  explicit Measurement(const Options& options) : options_(options) {}

  /// After each batch; true once time is up.
  bool count(std::int64_t samples) {
    const double time = now();
    if (time < options_.begin_at) return false;
    if (began_ == 0) {
      began_ = time;
      cpu_began_ = cpu_seconds();
      return false;
    }
    samples_ += static_cast<double>(samples);
    if (time < options_.begin_at + options_.seconds) return false;
    std::printf("%.2f %.5f\n", samples_ / (time - began_),
                (cpu_seconds() - cpu_began_) / (time - began_));
    return true;
  }

 private:
  const Options& options_;
  double began_ = 0;
  double cpu_began_ = 0;
  double samples_ = 0;
};

void train(auto& loader, const Options& options) {
  Trainer trainer;
  Measurement measurement(options);
  for (;;) {
    for (const Example& batch : loader) {
      trainer.step(batch);
      if (measurement.count(batch.data.size(0))) return;
    }
  }
}

void run(const Options& options) {
  at::set_num_threads(1);
  cv::setNumThreads(0);
  if (options.kind == "stream") {
    auto loader =
        bc::make_shared_data_loader(options.from, torch::data::DataLoaderOptions(batch_size));
    train(*loader, options);
    return;
  }
  auto loader = torch::data::make_data_loader(
      Jpegs(options.from).map(torch::data::transforms::Stack<>()),
      torch::data::DataLoaderOptions(batch_size).workers(options.workers));
  train(*loader, options);
}

}  // namespace

int main(int argc, char** argv) try {
  run(parse(argc, argv));
} catch (const std::exception& error) {
  std::fprintf(stderr, "torch_sweep: %s\n", error.what());
  return 1;
}
