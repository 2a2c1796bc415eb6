// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// torch_trainer STREAM: a libtorch trainer that is headers alone. It trains a linear layer for one
// epoch on a stream that another process serves.
#include <batchcast/torch.hpp>

#include <torch/torch.h>

#include <cstdint>
#include <cstdio>
#include <exception>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    auto loader = batchcast::make_shared_data_loader(argv[1], torch::data::DataLoaderOptions(8));
    torch::nn::Linear layer(64, 2);
    torch::optim::SGD optimizer(layer->parameters(), 0.01);
    std::int64_t samples = 0;
    for (auto& batch : *loader) {
      optimizer.zero_grad();
      const auto input = batch.data.to(torch::kFloat).reshape({batch.data.size(0), -1});
      const auto loss = layer(input.slice(1, 0, 64)).square().mean();
      loss.backward();
      optimizer.step();
      samples += batch.data.size(0);
    }
    std::printf("libtorch %s: trained on %lld samples\n", TORCH_VERSION,
                static_cast<long long>(samples));
    return samples > 0 ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 3;
  }
}
