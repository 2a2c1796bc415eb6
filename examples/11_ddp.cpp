// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// One model, trained data-parallel by several processes that share each batch of one stream. With
// MNIST's or Fashion-MNIST's files, unpacked, in a folder:
//   torchrun --no-python --nproc-per-node 2 example_11_ddp FOLDER
// The first rank to come starts the stream; all begin at the same sample, once the last has come.
// It takes a libtorch whose gloo has headers: Debian's (libtorch-dev, libgloo-dev), not PyPI's.
#include <torch/torch.h>

#if !__has_include(<gloo/algorithm.h>)
#error "gloo's headers are not there: take Debian's libtorch-dev and libgloo-dev, PyPI's has none"
#endif
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <batchcast/torch.hpp>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace bc = batchcast;

namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr) throw std::runtime_error(std::string(name) + " is not set: run torchrun");
  return value;
}

/// What torch.distributed.init_process_group("gloo") does in Python.
c10::intrusive_ptr<c10d::ProcessGroupGloo> join_the_others() {
  const int rank = std::stoi(variable("RANK"));
  const int world = std::stoi(variable("WORLD_SIZE"));
  const char* const agent = std::getenv("TORCHELASTIC_USE_AGENT_STORE");
  c10d::TCPStoreOptions there;
  there.port = static_cast<std::uint16_t>(std::stoi(variable("MASTER_PORT")));
  there.isServer = rank == 0 && (agent == nullptr || std::string(agent) != "True");
  auto store = c10::make_intrusive<c10d::TCPStore>(variable("MASTER_ADDR"), there);
  auto options = c10d::ProcessGroupGloo::Options::create();
  options->devices = {c10d::ProcessGroupGloo::createDeviceForHostname(variable("MASTER_ADDR"))};
  return c10::make_intrusive<c10d::ProcessGroupGloo>(store, rank, world, options);
}

void train(const std::string& folder) {
  const auto ranks = join_the_others();
  // [snippet ddp]
  auto loader =
      bc::make_shared_data_loader({.stream = "mnist-ddp",
                                   .batch_size = 32,  // of each rank
                                   .tail = bc::Tail::drop,
                                   .group = "auto",
                                   .start = {.source = "idx:" + folder, .recipe = "mnist"}});
  // [snippet end]
  torch::manual_seed(1);  // the same model on all ranks
  torch::nn::Sequential network(torch::nn::Flatten(), torch::nn::Linear(784, 64), torch::nn::ReLU(),
                                torch::nn::Linear(64, 10));
  torch::optim::SGD optimizer(network->parameters(), 0.05);
  std::int64_t samples = 0;
  std::int64_t right = 0;
  for (auto& batch : *loader) {
    const torch::Tensor scores = network->forward(batch.data);
    optimizer.zero_grad();
    torch::nn::functional::cross_entropy(scores, batch.target).backward();
    for (const torch::Tensor& parameter : network->parameters()) {
      std::vector<torch::Tensor> gradient = {parameter.mutable_grad()};
      ranks->allreduce(gradient)->wait();
      gradient[0].div_(ranks->getSize());
    }
    optimizer.step();
    samples += batch.data.size(0);
    right += scores.argmax(1).eq(batch.target).sum().item<std::int64_t>();
  }
  double sum = 0;
  for (const torch::Tensor& parameter : network->parameters())
    sum += parameter.sum().item<double>();
  std::printf("rank %d of %d: %ld samples, %.1f%% right, parameters add up to %.6f\n",
              ranks->getRank(), ranks->getSize(), samples,
              100.0 * static_cast<double>(right) / static_cast<double>(samples), sum);
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::fprintf(stderr, "usage: torchrun --no-python --nproc-per-node N %s FOLDER\n", argv[0]);
    return 2;
  }
  train(argv[1]);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
