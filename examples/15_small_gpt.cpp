// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

// A small GPT in libtorch that trains on texts without padding: serves them, and trains with a
// budget in the same process. `example_15_small_gpt [STREAM]`.
#include <torch/torch.h>

#include <batchcast/batchcast.hpp>
#include <batchcast/torch.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

namespace bc = batchcast;
namespace nn = torch::nn;

namespace {

constexpr std::int64_t vocabulary = 64;
constexpr std::int64_t width = 32;
constexpr std::int64_t longest = 64;

/// Texts that count up from a number, and whose first two tokens are not trained.
void serve(bc::Producer& producer) {
  while (auto loan = producer.loan(32)) {
    std::vector<std::uint64_t> counts;
    for (const std::uint64_t text : loan->sample_ids()) counts.push_back(4 + text * 7 % 60);
    if (!loan->take_rows("tokens", counts)) continue;
    for (std::size_t i = 0; i < loan->size(); ++i) {
      std::uint64_t token = loan->sample_ids()[i] * 11;
      std::uint8_t trained = 0;
      for (std::int32_t& one : loan->rows<std::int32_t>(i, "tokens").span()) {
        one = static_cast<std::int32_t>(token++ % vocabulary);
      }
      for (std::uint8_t& one : loan->rows<std::uint8_t>(i, "loss_mask").span()) {
        one = trained++ > 1;
      }
    }
    loan->publish();
  }
  static_cast<void>(producer.finish());
}

struct GptImpl : nn::Module {
  GptImpl()
      : tokens(register_module("tokens", nn::Embedding(vocabulary, width))),
        places(register_module("places", nn::Embedding(longest, width))),
        to_heads(register_module("to_heads", nn::Linear(width, 3 * width))),
        to_scores(register_module("to_scores", nn::Linear(width, vocabulary))) {}

  // [snippet forward]
  /// One block of attention, in which no token sees another text or a later token.
  torch::Tensor forward(const bc::FlatTexts& texts) {
    const torch::Tensor x = tokens(texts.input_ids[0]) + places(texts.position_ids[0]);
    const torch::Tensor text = texts.seq_idx[0];
    const torch::Tensor sees = text.unsqueeze(1).eq(text.unsqueeze(0)).tril();
    const std::vector<torch::Tensor> parts = to_heads(x).chunk(3, 1);
    const torch::Tensor scores = parts[0].matmul(parts[1].t()) / std::sqrt(double{width});
    const torch::Tensor weights = scores.masked_fill(sees.logical_not(), -1e9).softmax(1);
    return to_scores(x + weights.matmul(parts[2]));
  }
  // [snippet end]

  nn::Embedding tokens, places;
  nn::Linear to_heads, to_scores;
};
TORCH_MODULE(Gpt);

void train(const std::string& name) {
  torch::manual_seed(1);
  Gpt model;
  torch::optim::AdamW optimizer(model->parameters(), torch::optim::AdamWOptions(0.01));
  double first = 0;
  double last = 0;
  int steps = 0;
  // [snippet train]
  bc::Consumer consumer({.stream = name, .budget = {"tokens", 512}});
  for (const bc::Batch& batch : consumer) {
    const bc::FlatTexts texts = bc::flat_texts(batch);
    const torch::Tensor scores = model(texts);
    torch::Tensor loss = nn::functional::cross_entropy(scores, texts.targets()[0]);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    // [snippet end]
    last = loss.item<double>();
    if (steps++ == 0) first = last;
  }
  std::printf("%d steps, loss %.2f to %.2f\n", steps, first, last);
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string name = argc > 1 ? argv[1] : "small-gpt";
  bc::ProducerOptions options;
  options.stream = name;
  options.schema = {{"tokens", bc::DType::i32, bc::Axis{"tokens"}},
                    {"loss_mask", bc::DType::u8, bc::Axis{"tokens"}}};
  options.rows_per_sample = {{"tokens", 34}};
  options.samples_per_epoch = 1'000;
  options.epochs = 1;
  options.wait_for = 1;
  bc::Producer producer(options);
  std::thread serving([&] { serve(producer); });
  train(name);
  serving.join();
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
