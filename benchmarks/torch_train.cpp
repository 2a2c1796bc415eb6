// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// Trains a network of LeNet's size by turns from a stream of u8 images and labels, and from a
// tensor in memory that has the same samples, with one thread. Prints `ROUND NAME
// SAMPLES_PER_SECOND`. Usage: torch_train STREAM ROUNDS SECONDS (of each turn)
#include <batchcast/torch.hpp>

#include <ATen/Parallel.h>
#include <torch/torch.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>

namespace bc = batchcast;

namespace {

using Clock = std::chrono::steady_clock;
using Example = torch::data::Example<>;
using Loader = bc::SharedDataLoader<Example>;

constexpr std::int64_t batch_size = 64;

double seconds_since(Clock::time_point began) {
  return std::chrono::duration<double>(Clock::now() - began).count();
}

struct LeNetImpl : torch::nn::Module {
  torch::Tensor forward(torch::Tensor x) {
    x = torch::max_pool2d(torch::relu(conv1(x)), 2);
    x = torch::max_pool2d(torch::relu(conv2(x)), 2);
    x = torch::relu(fc1(x.flatten(1)));
    return fc3(torch::relu(fc2(x)));
  }
  torch::nn::Conv2d conv1 =
      register_module("conv1", torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 6, 5).padding(2)));
  torch::nn::Conv2d conv2 = register_module("conv2", torch::nn::Conv2d(6, 16, 5));
  torch::nn::Linear fc1 = register_module("fc1", torch::nn::Linear(400, 120));
  torch::nn::Linear fc2 = register_module("fc2", torch::nn::Linear(120, 84));
  torch::nn::Linear fc3 = register_module("fc3", torch::nn::Linear(84, 10));
};
TORCH_MODULE(LeNet);

class Trainer {
 public:
  void step(const Example& batch) {
    const torch::Tensor images = batch.data.to(torch::kFloat).div_(255).reshape({-1, 1, 28, 28});
    sgd_.zero_grad();
    torch::cross_entropy_loss(net_(images), batch.target.to(torch::kLong)).backward();
    sgd_.step();
  }

 private:
  LeNet net_;
  torch::optim::SGD sgd_{net_->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9)};
};

/// All samples of an epoch, in memory.
class InMemory {
 public:
  explicit InMemory(Loader& loader) {
    std::vector<torch::Tensor> images;
    std::vector<torch::Tensor> labels;
    for (const Example& batch : loader) {
      images.push_back(batch.data.clone());
      labels.push_back(batch.target.clone());
    }
    images_ = torch::cat(images);
    labels_ = torch::cat(labels);
  }
  Example next() {
    if (at_ + batch_size > images_.size(0)) at_ = 0;
    const std::int64_t from = at_;
    at_ += batch_size;
    return {images_.narrow(0, from, batch_size), labels_.narrow(0, from, batch_size)};
  }

 private:
  torch::Tensor images_;
  torch::Tensor labels_;
  std::int64_t at_ = 0;
};

/// The stream's batches, epoch after epoch: a turn begins where the last one stopped.
class Endless {
 public:
  explicit Endless(Loader& loader) : loader_(loader) {}
  const Example& next() {
    if (it_) ++*it_;
    while (!it_ || *it_ == loader_.end()) it_.emplace(loader_.begin());
    return **it_;
  }

 private:
  Loader& loader_;
  std::optional<torch::data::Iterator<Example>> it_;
};

double samples_per_second(Trainer& trainer, auto& batches, double seconds) {
  for (int i = 0; i < 10; ++i) trainer.step(batches.next());
  const auto began = Clock::now();
  std::int64_t samples = 0;
  while (seconds_since(began) < seconds) {
    const Example& batch = batches.next();
    trainer.step(batch);
    samples += batch.data.size(0);
  }
  return static_cast<double>(samples) / seconds_since(began);
}

void run(const std::string& stream, int rounds, double seconds) {
  at::set_num_threads(1);
  torch::manual_seed(1);
  auto loader = bc::make_shared_data_loader(stream, torch::data::DataLoaderOptions(batch_size));
  InMemory memory(*loader);
  Endless shared(*loader);
  Trainer trainer;
  samples_per_second(trainer, memory, seconds);
  for (int round = 1; round <= rounds; ++round) {
    double from_memory = 0;
    double from_stream = 0;
    // By turns first: what drifts within a round favours neither.
    if (round % 2 == 0) from_memory = samples_per_second(trainer, memory, seconds);
    from_stream = samples_per_second(trainer, shared, seconds);
    if (round % 2 == 1) from_memory = samples_per_second(trainer, memory, seconds);
    std::printf("%d train_memory %.1f\n%d train_stream %.1f\n", round, from_memory, round,
                from_stream);
  }
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 4) throw std::runtime_error("usage: torch_train STREAM ROUNDS SECONDS");
  run(argv[1], std::atoi(argv[2]), std::atof(argv[3]));
} catch (const std::exception& error) {
  std::fprintf(stderr, "torch_train: %s\n", error.what());
  return 1;
}
