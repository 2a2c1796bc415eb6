// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// Trains ResNet-18 on a GPU by turns: with a batch that lies there already, and with a stream's.
// All processes of a measurement take the same turns at the same time, from BEGIN_AT on (seconds
// since the epoch, as `date +%s` has them). Prints one JSON line with the images a second of each
// turn. Usage: gpu_train STREAM ROUNDS SECONDS (of each turn) BEGIN_AT
#include <batchcast/torch.hpp>

#include <torch/torch.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>

namespace bc = batchcast;

namespace {

using Clock = std::chrono::system_clock;
using Seconds = std::chrono::duration<double>;
using Example = torch::data::Example<>;

constexpr std::int64_t batch_size = 128;
constexpr std::int64_t classes = 1000;

torch::nn::Conv2d convolution(std::int64_t in, std::int64_t out, std::int64_t size,
                              std::int64_t stride) {
  return torch::nn::Conv2d(
      torch::nn::Conv2dOptions(in, out, size).stride(stride).padding(size / 2).bias(false));
}

struct BlockImpl : torch::nn::Module {
  BlockImpl(std::int64_t in, std::int64_t out, std::int64_t stride)
      : main(register_module(
            "main",
            torch::nn::Sequential(convolution(in, out, 3, stride), torch::nn::BatchNorm2d(out),
                                  torch::nn::ReLU(), convolution(out, out, 3, 1),
                                  torch::nn::BatchNorm2d(out)))),
        beside(register_module("beside", torch::nn::Sequential())) {
    if (stride != 1 || in != out) {
      beside->push_back(convolution(in, out, 1, stride));
      beside->push_back(torch::nn::BatchNorm2d(out));
    }
  }
  torch::Tensor forward(const torch::Tensor& x) {
    return torch::relu(main->forward(x) + (beside->is_empty() ? x : beside->forward(x)));
  }
  torch::nn::Sequential main, beside;
};
TORCH_MODULE(Block);

torch::nn::Sequential resnet18() {
  torch::nn::Sequential net(
      convolution(3, 64, 7, 2), torch::nn::BatchNorm2d(64), torch::nn::ReLU(),
      torch::nn::MaxPool2d(torch::nn::MaxPool2dOptions(3).stride(2).padding(1)));
  std::int64_t in = 64;
  for (const std::int64_t out : {64, 128, 256, 512}) {
    net->push_back(Block(in, out, in == out ? 1 : 2));
    net->push_back(Block(out, out, 1));
    in = out;
  }
  net->push_back(torch::nn::AdaptiveAvgPool2d(1));
  net->push_back(torch::nn::Flatten());
  net->push_back(torch::nn::Linear(in, classes));
  return net;
}

class Trainer {
 public:
  Trainer() {
    net_->to(torch::Device(torch::kCUDA), torch::kBFloat16);
    resident_ = {
        torch::randn({batch_size, 3, 224, 224},
                     torch::TensorOptions(torch::kCUDA).dtype(torch::kBFloat16)),
        torch::zeros({batch_size}, torch::TensorOptions(torch::kCUDA).dtype(torch::kLong))};
  }

  void step(const Example& batch) {
    sgd_.zero_grad();
    const torch::Tensor scores = net_->forward(batch.data).to(torch::kFloat);
    torch::cross_entropy_loss(scores, batch.target.to(torch::kCUDA).remainder(classes)).backward();
    sgd_.step();
  }
  void step_resident() { step(resident_); }

  /// Waits for the GPU every few steps, as a loop that logs its loss does: else the launches run
  /// far ahead of what is measured.
  double rate(Clock::time_point from, double seconds, const std::function<void()>& one_step) {
    std::this_thread::sleep_until(from);
    const auto until = from + std::chrono::duration_cast<Clock::duration>(Seconds(seconds));
    std::int64_t images = 0;
    const auto began = Clock::now();
    while (Clock::now() < until) {
      for (int i = 0; i < 4; ++i) one_step();
      torch::cuda::synchronize();
      images += 4 * batch_size;
    }
    return static_cast<double>(images) / Seconds(Clock::now() - began).count();
  }

 private:
  torch::nn::Sequential net_ = resnet18();
  torch::optim::SGD sgd_{net_->parameters(), torch::optim::SGDOptions(0.01).momentum(0.9)};
  Example resident_{torch::Tensor(), torch::Tensor()};
};

int run(char** arguments) {
  if (!torch::cuda::is_available()) throw std::runtime_error("this libtorch finds no GPU");
  const std::string stream = arguments[1];
  const int rounds = std::atoi(arguments[2]);
  const double seconds = std::atof(arguments[3]);
  const auto begin = Clock::time_point(
      std::chrono::duration_cast<Clock::duration>(Seconds(std::atof(arguments[4]))));
  Trainer trainer;
  auto loader = bc::make_shared_data_loader(
      {.stream = stream, .batch_size = batch_size, .tail = bc::Tail::drop, .placement = "cuda:0"});
  auto batch = loader->begin();
  const auto from_stream = [&] {
    trainer.step(*batch);
    if (++batch == loader->end()) batch = loader->begin();
  };
  for (int i = 0; i < 5; ++i) {
    trainer.step_resident();
    from_stream();
  }
  torch::cuda::synchronize();
  if (Clock::now() > begin) throw std::runtime_error("BEGIN_AT was over before all was warm");
  // A second between turns: no trainer's last step reaches into the next turn.
  const auto turn = std::chrono::duration_cast<Clock::duration>(Seconds(seconds + 1));
  std::string resident, streamed;
  for (int round = 0; round < rounds; ++round) {
    const auto comma = round == 0 ? "" : ",";
    resident += comma + std::to_string(trainer.rate(begin + 2 * round * turn, seconds,
                                                    [&] { trainer.step_resident(); }));
    streamed +=
        comma + std::to_string(trainer.rate(begin + (2 * round + 1) * turn, seconds, from_stream));
  }
  std::printf("{\"resident\":[%s],\"streamed\":[%s]}\n", resident.c_str(), streamed.c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fputs("usage: gpu_train STREAM ROUNDS SECONDS BEGIN_AT\n", stderr);
    return 2;
  }
  try {
    return run(argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpu_train: %s\n", error.what());
    return 3;
  }
}
