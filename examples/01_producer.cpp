// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

// Serves a stream of made-up images: `example_01_producer [STREAM]`, and beside it any number of
// `example_02_consumer [STREAM]`.
#include <batchcast/batchcast.hpp>

#include <cstdio>

namespace bc = batchcast;

namespace {

// The image and the label of one index of the dataset: here, of the index alone.
void make_sample(std::uint64_t index, std::span<float> image, std::int64_t& label) {
  for (float& pixel : image) pixel = static_cast<float>(index % 256) / 256;
  label = static_cast<std::int64_t>(index % 10);
}

void serve(const char* name) {
  // [snippet producer]
  bc::Producer producer(
      {.stream = name,
       .schema = {{"image", bc::DType::f32, {3, 32, 32}}, {"label", bc::DType::i64}},
       .samples_per_epoch = 50'000,
       .epochs = 2});
  while (auto loan = producer.loan(64)) {  // up to 64 samples, in the ring itself
    auto image = loan->field<float>("image");
    auto label = loan->field<std::int64_t>("label");
    for (std::size_t i = 0; i < loan->size(); ++i)
      make_sample(loan->sample_ids()[i], image[i], label[i][0]);
    loan->publish();
  }
  // [snippet end]
}

}  // namespace

int main(int argc, char** argv) try {
  serve(argc > 1 ? argv[1] : "demo");
} catch (const bc::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
