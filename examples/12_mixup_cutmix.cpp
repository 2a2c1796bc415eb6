// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// The trainer does MixUp and CutMix, since they mix the samples of a batch, whose size each trainer
// chooses. With MNIST's or Fashion-MNIST's files, unpacked, in a folder:
//   example_12_mixup_cutmix FOLDER
#include <torch/torch.h>

#include <batchcast/torch.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

namespace bc = batchcast;

namespace {

// [snippet mix]
struct Mixed {
  torch::Tensor data;
  torch::Tensor target;  // a share of each class
};

// A draw of Beta(alpha, alpha).
double draw_share(double alpha) {
  return torch::_sample_dirichlet(torch::full({2}, alpha))[0].item<double>();
}

torch::Tensor mixed(const torch::Tensor& values, double share) {
  return values * share + values.roll(1, 0) * (1 - share);
}

Mixed mixup(const torch::data::Example<>& batch, std::int64_t classes, double alpha = 0.2) {
  const double share = draw_share(alpha);
  const torch::Tensor target = torch::one_hot(batch.target, classes).to(torch::kFloat32);
  return {mixed(batch.data, share), mixed(target, share)};
}

Mixed cutmix(const torch::data::Example<>& batch, std::int64_t classes, double alpha = 1) {
  using torch::indexing::Slice;
  const std::int64_t height = batch.data.size(-2);
  const std::int64_t width = batch.data.size(-1);
  const double half = 0.5 * std::sqrt(1 - draw_share(alpha));
  const auto side = [half](std::int64_t length) {
    const auto middle = torch::randint(length, {1}).item<std::int64_t>();
    const auto reach = static_cast<std::int64_t>(half * static_cast<double>(length));
    return std::pair(std::max<std::int64_t>(middle - reach, 0), std::min(middle + reach, length));
  };
  const auto [left, right] = side(width);
  const auto [top, bottom] = side(height);
  torch::Tensor data = batch.data.clone();
  data.index_put_({"...", Slice(top, bottom), Slice(left, right)},
                  batch.data.roll(1, 0).index({"...", Slice(top, bottom), Slice(left, right)}));
  const double cut = static_cast<double>((right - left) * (bottom - top));
  const double share = 1 - cut / static_cast<double>(width * height);
  const torch::Tensor target = torch::one_hot(batch.target, classes).to(torch::kFloat32);
  return {data, mixed(target, share)};
}
// [snippet end]

void train(const std::string& folder) {
  auto loader = bc::make_shared_data_loader(
      {.stream = "mnist", .start = {.source = "idx:" + folder, .recipe = "mnist"}}, 64);
  torch::nn::Sequential network(torch::nn::Flatten(), torch::nn::Linear(784, 64), torch::nn::ReLU(),
                                torch::nn::Linear(64, 10));
  torch::optim::SGD optimizer(network->parameters(), 0.05);
  double sum = 0;
  std::int64_t batches = 0;
  for (auto& batch : *loader) {
    // [snippet use]
    const bool cuts = torch::rand({}).item<float>() < 0.5F;
    const Mixed mix = cuts ? cutmix(batch, 10) : mixup(batch, 10);
    const torch::Tensor loss =
        torch::nn::functional::cross_entropy(network->forward(mix.data), mix.target);
    // [snippet end]
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    sum += loss.item<double>();
    ++batches;
  }
  std::printf("%ld batches, mean loss %.2f\n", batches, sum / static_cast<double>(batches));
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 2;
  }
  torch::manual_seed(1);
  train(argv[1]);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
