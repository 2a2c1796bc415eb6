// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// The trainer of docs/tutorial.md: `trainer FOLDER RECIPE CLASSES RATE` learns the images of an
// image folder with one learning rate. Any number of these share one stream, which the first one
// starts.
#include <torch/torch.h>

#include <batchcast/torch.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace bc = batchcast;
namespace nn = torch::nn;

namespace {

nn::Sequential make_network(std::int64_t classes) {
  return nn::Sequential(nn::Conv2d(nn::Conv2dOptions(3, 16, 5).stride(4)), nn::ReLU(),
                        nn::Conv2d(nn::Conv2dOptions(16, 32, 5).stride(4)), nn::ReLU(),
                        nn::AdaptiveAvgPool2d(1), nn::Flatten(), nn::Linear(32, classes));
}

void run(const std::string& folder, const std::string& recipe, std::int64_t classes,
         const std::string& rate) {
  torch::set_num_threads(1);
  // [snippet loader]
  auto loader = bc::make_shared_data_loader(
      {.stream = "photos",
       .batch_size = 64,
       .name = "rate-" + rate,
       .start = {.source = "imagefolder:" + folder, .recipe = recipe, .wait_for = 4}});
  // [snippet end]
  // [snippet training]
  nn::Sequential network = make_network(classes);
  torch::optim::SGD optimizer(network->parameters(), std::stod(rate));
  for (int epoch = 1; epoch <= 2; ++epoch) {
    double loss_sum = 0;
    std::int64_t samples = 0;
    for (auto& batch : *loader) {  // one epoch, each image once
      torch::Tensor loss = torch::cross_entropy_loss(network->forward(batch.data), batch.target);
      optimizer.zero_grad();
      loss.backward();
      optimizer.step();
      loss_sum += loss.item<double>() * static_cast<double>(batch.data.size(0));
      samples += batch.data.size(0);
    }
    std::printf("rate %s: epoch %d, %ld samples, loss %.3f, waited %.1f s\n", rate.c_str(), epoch,
                samples, loss_sum / static_cast<double>(samples), loader->stats().wait_seconds);
  }
  // [snippet end]
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 5) {
    std::fprintf(stderr, "usage: %s FOLDER RECIPE CLASSES RATE\n", argv[0]);
    return 2;
  }
  run(argv[1], argv[2], std::atoll(argv[3]), argv[4]);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
