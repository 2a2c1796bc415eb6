// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <torch/torch.h>

#include <cstdint>

// Plain libtorch: a network of LeNet's size for images of 1x28x28, and what is done with it.
// Nothing here knows where the batches come from.
namespace sweep {

[[nodiscard]] inline torch::nn::Sequential make_network() {
  namespace nn = torch::nn;
  return nn::Sequential(nn::Conv2d(1, 8, 5), nn::ReLU(), nn::MaxPool2d(2),   // [8, 12, 12]
                        nn::Conv2d(8, 16, 5), nn::ReLU(), nn::MaxPool2d(2),  // [16, 4, 4]
                        nn::Flatten(), nn::Linear(256, 100), nn::ReLU(), nn::Linear(100, 10));
}

/// Adam whose learning rate goes down to nothing over a number of samples.
class Optimizer {
 public:
  Optimizer(const torch::nn::Sequential& network, double learning_rate, double samples_total)
      : learning_rate_(learning_rate),
        samples_total_(samples_total),
        adam_(network->parameters(), torch::optim::AdamOptions(learning_rate)) {}

  void step(torch::Tensor& loss, std::int64_t samples) {
    const double left = 1 - samples_ / samples_total_;
    adam_.param_groups()[0].options().set_lr(learning_rate_ * (left > 0 ? left : 0));
    adam_.zero_grad();
    loss.backward();
    adam_.step();
    samples_ += static_cast<double>(samples);
  }

 private:
  double learning_rate_;
  double samples_total_;
  double samples_ = 0;
  torch::optim::Adam adam_;
};

/// One epoch; calls `seen(samples, loss)` after every batch.
template <class Loader, class Seen>
void train_epoch(torch::nn::Sequential& network, Optimizer& optimizer, Loader& loader, Seen seen) {
  network->train();
  for (auto& batch : loader) {
    torch::Tensor loss = torch::nn::functional::cross_entropy(network->forward(batch.data),  //
                                                              batch.target);
    optimizer.step(loss, batch.data.size(0));
    seen(batch.data.size(0), loss.template item<double>());
  }
}

/// The share of samples that the network puts into the right class.
template <class Loader>
[[nodiscard]] double accuracy_of(torch::nn::Sequential& network, Loader& loader) {
  const torch::NoGradGuard no_gradients;
  network->eval();
  std::int64_t right = 0;
  std::int64_t samples = 0;
  for (auto& batch : loader) {
    const torch::Tensor guess = network->forward(batch.data).argmax(1);
    right += guess.eq(batch.target).sum().template item<std::int64_t>();
    samples += batch.data.size(0);
  }
  return static_cast<double>(right) / static_cast<double>(samples);
}

}  // namespace sweep
