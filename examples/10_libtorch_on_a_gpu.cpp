// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// Trains on batches that are on the GPU already, in one ring with every other trainer there. With
// MNIST's or Fashion-MNIST's files, unpacked, in a folder: example_10_libtorch_on_a_gpu FOLDER.
// Without a GPU that libtorch can use it trains on the host.
#include <torch/torch.h>

#include <batchcast/torch.hpp>

#include <cstdio>
#include <string>

namespace bc = batchcast;

namespace {

class Model {
 public:
  explicit Model(const torch::Device& device)
      : network_(784, 10), optimizer_(network_->parameters(), 0.05) {
    network_->to(device);
  }

  /// Returns how many it had right before.
  torch::Tensor step(const torch::Tensor& images, const torch::Tensor& labels) {
    const torch::Tensor scores = network_->forward(images.flatten(1));
    torch::Tensor loss = torch::nn::functional::cross_entropy(scores, labels);
    optimizer_.zero_grad();
    loss.backward();
    optimizer_.step();
    return scores.argmax(1).eq(labels).sum();
  }

 private:
  torch::nn::Linear network_;
  torch::optim::SGD optimizer_;
};

void train(const std::string& folder, bool gpu) {
  // [snippet loop]
  auto loader =
      bc::make_shared_data_loader({.stream = "mnist-gpu",
                                   .batch_size = 64,
                                   .placement = gpu ? "cuda:0" : "host",
                                   .start = {.source = "idx:" + folder, .recipe = "mnist"}});
  Model model(gpu ? torch::Device(torch::kCUDA, 0) : torch::kCPU);
  torch::Tensor right = torch::zeros({}, gpu ? torch::kCUDA : torch::kCPU);
  for (auto& batch : *loader) right += model.step(batch.data, batch.target);  // all on the GPU
  // [snippet end]
  std::printf("on the %s: %.1f%% right\n", gpu ? "GPU" : "host",
              100.0 * right.item<double>() / static_cast<double>(loader->stats().samples));
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 2;
  }
  const bool gpu = torch::cuda::is_available();
  if (!gpu) std::puts("there is no GPU that this libtorch can use: training on the host");
  torch::manual_seed(1);
  train(argv[1], gpu);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
