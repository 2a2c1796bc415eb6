// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// A libtorch user's program: a producer's four images, in batches, through the loader that takes
// the place of torch's own.
#include <batchcast/torch_serve.hpp>

#include <torch/torch.h>

#include <cstdint>
#include <cstdio>
#include <thread>

namespace bc = batchcast;

// A trainer's own short names, which must not be batchcast's as well.
namespace cuda = torch::cuda;
namespace data = torch::data;
using namespace batchcast;

int main() {
  constexpr std::uint64_t samples = 4;
  bc::Producer producer(
      {.stream = "package-test",
       .schema = {{"image", bc::DType::f32, {2, 2}}, {"label", bc::DType::i64, {}}},
       .memory = 1 << 20,
       .samples_per_epoch = samples,
       .epochs = 1,
       .wait_for = 1});
  float sum = 0;
  std::thread trainer([&sum] {
    auto loader = make_shared_data_loader("package-test", data::DataLoaderOptions(3));
    for (auto& batch : *loader) {
      sum += batch.data.sum().item<float>() + batch.target.to(torch::kFloat).sum().item<float>();
    }
  });
  while (auto loan = producer.loan(samples)) {
    for (float& pixel : loan->field<float>("image").span()) pixel = 0.5F;
    for (std::size_t i = 0; i < loan->size(); ++i) {
      loan->sample_ids()[i] = loan->index_in_epoch() + i;
      loan->field<std::int64_t>("label").span()[i] = static_cast<std::int64_t>(i);
    }
    loan->publish();
  }
  trainer.join();
  std::printf("libtorch %s %s CUDA: %.1f\n", TORCH_VERSION,
              cuda::is_available() ? "with" : "without", static_cast<double>(sum));
  return sum == 14.0F ? 0 : 1;
}
