// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

// Serves a loader of torch, with your dataset and transforms, to any number of trainers:
// `example_08_serve_a_torch_loader [STREAM]`, and beside it `example_02_consumer STREAM` or a
// SharedDataLoader.
#include <batchcast/torch_serve.hpp>

#include <torch/data.h>
#include <torch/types.h>

#include <cstdio>
#include <exception>
#include <string>

namespace bc = batchcast;

namespace {

// get() is called once for all trainers.
struct Stripes : torch::data::datasets::Dataset<Stripes> {
  torch::data::Example<> get(std::size_t index) override {
    const auto width = static_cast<std::int64_t>(1 + index % 10);
    const torch::Tensor row = torch::arange(32).div(width, "floor").remainder(2);
    return {row.expand({3, 32, 32}).to(torch::kFloat), torch::tensor(width - 1)};
  }
  torch::optional<std::size_t> size() const override { return 5'000; }
};

void serve(const std::string& name) {
  // [snippet serve]
  auto loader =
      torch::data::make_data_loader(Stripes()
                                        .map(torch::data::transforms::Normalize<>(0.5, 0.5))
                                        .map(torch::data::transforms::Stack<>()),
                                    torch::data::DataLoaderOptions(64).workers(2));
  bc::serve(*loader, {.stream = name, .epochs = 2}, {.data = "image", .target = "label"});
  // [snippet end]
}

}  // namespace

int main(int argc, char** argv) try {
  serve(argc > 1 ? argv[1] : "stripes");
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
