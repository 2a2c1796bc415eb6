// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// A plain libtorch program, and the lines that change in it. With MNIST's or Fashion-MNIST's files,
// unpacked, in a folder:
//   example_05_libtorch_loop FOLDER          reads, normalises and shuffles them itself
//   example_05_libtorch_loop FOLDER shared   takes them from a stream, together with any other
//                                            trainer of it; the first one to come starts it
// and without files:
//   example_05_libtorch_loop STREAM served   takes a stream of another process, such as
//                                            examples/python/serve_to_cpp.py
#include <torch/torch.h>

#include <batchcast/torch.hpp>

#include <cstdio>
#include <string>

namespace bc = batchcast;
namespace data = torch::data;

namespace {

// Stays as it is, whichever loader it gets.
template <class Loader>
void train(Loader& loader, int epochs) {
  torch::nn::Sequential network(torch::nn::Flatten(), torch::nn::Linear(784, 64), torch::nn::ReLU(),
                                torch::nn::Linear(64, 10));
  torch::optim::SGD optimizer(network->parameters(), 0.05);
  for (int epoch = 0; epoch < epochs; ++epoch) {
    std::int64_t samples = 0;
    std::int64_t right = 0;
    double loss_sum = 0;
    for (auto& batch : loader) {
      const torch::Tensor scores = network->forward(batch.data);
      torch::Tensor loss = torch::nn::functional::cross_entropy(scores, batch.target);
      optimizer.zero_grad();
      loss.backward();
      optimizer.step();
      samples += batch.data.size(0);
      right += scores.argmax(1).eq(batch.target).sum().template item<std::int64_t>();
      loss_sum += loss.template item<double>() * static_cast<double>(batch.data.size(0));
    }
    const auto count = static_cast<double>(samples);
    std::printf("epoch %d: %ld samples, %.1f%% right, loss %.3f\n", epoch, samples,
                100.0 * static_cast<double>(right) / count, loss_sum / count);
  }
}

void with_torchs_loader(const std::string& folder) {
  // [snippet before]
  auto loader = data::make_data_loader(data::datasets::MNIST(folder)
                                           .map(data::transforms::Normalize<>(0.1307, 0.3081))
                                           .map(data::transforms::Stack<>()),
                                       data::DataLoaderOptions(64));
  train(*loader, 3);
  // [snippet end]
}

void with_a_shared_one(const std::string& folder) {
  // [snippet after]
  auto loader = bc::make_shared_data_loader(
      {.stream = "mnist", .start = {.source = "idx:" + folder, .recipe = "mnist"}}, 64);
  train(*loader, 3);
  // [snippet end]
}

void with_a_served_one(const std::string& stream) {
  // [snippet served]
  auto loader = bc::make_shared_data_loader(stream, 64);
  train(*loader, 3);
  // [snippet end]
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string how = argc == 3 ? argv[2] : "";
  if (argc < 2 || argc > 3 || (argc == 3 && how != "shared" && how != "served")) {
    std::fprintf(stderr, "usage: %s FOLDER [shared]\n       %s STREAM served\n", argv[0], argv[0]);
    return 2;
  }
  torch::manual_seed(1);
  if (how == "served") {
    with_a_served_one(argv[1]);
  } else {
    how == "shared" ? with_a_shared_one(argv[1]) : with_torchs_loader(argv[1]);
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
