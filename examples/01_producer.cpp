// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

// Serves a stream of made-up images: `example_01_producer [STREAM]`, and beside it any number of
// `example_02_consumer [STREAM]`.
#include <batchcast/batchcast.hpp>

#include <cstdio>

namespace bc = batchcast;

namespace {

// Images and labels of some indices of the dataset: here, made of the index alone.
void fill(std::span<const std::uint64_t> index, bc::FieldView<float> image,
          bc::FieldView<std::int64_t> label) {
  for (std::size_t i = 0; i < index.size(); ++i) {
    for (float& pixel : image[i]) pixel = static_cast<float>(index[i] % 256) / 256;
    label[i][0] = static_cast<std::int64_t>(index[i] % 10);
  }
}

void serve(const char* name) {
  // [snippet producer]
  bc::Producer producer(
      {.stream = name,
       .schema = {{"image", bc::DType::f32, {3, 32, 32}}, {"label", bc::DType::i64}},
       .samples_per_epoch = 50'000,
       .epochs = 2});
  while (auto loan = producer.loan(64)) {  // up to 64 samples, in the ring itself
    fill(loan->sample_ids(), loan->field<float>("image"), loan->field<std::int64_t>("label"));
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
