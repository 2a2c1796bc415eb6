// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

// Samples of different lengths: serves boxes, of which each image has another number, and trains on
// them with a budget in the same process. `example_13_ragged [STREAM]`.
#include <batchcast/batchcast.hpp>

#include <cstdio>
#include <string>
#include <thread>
#include <vector>

namespace bc = batchcast;

namespace {

constexpr std::uint64_t images = 1'000;

std::uint64_t boxes_of(std::uint64_t image) { return image * 7 % 13; }

void serve(bc::Producer& producer) {
  // [snippet producer]
  while (auto loan = producer.loan(32)) {
    std::vector<std::uint64_t> counts;
    for (const std::uint64_t image : loan->sample_ids()) counts.push_back(boxes_of(image));
    if (!loan->take_rows("boxes", counts)) continue;  // it has no samples left: ask again
    for (std::size_t i = 0; i < loan->size(); ++i) {  // it may be shorter than before
      for (float& edge : loan->rows<float>(i, "boxes").span()) edge = 0.5F;
      for (std::int64_t& name : loan->rows<std::int64_t>(i, "classes").span()) name = 3;
    }
    loan->publish();
  }
  // [snippet end]
  static_cast<void>(producer.finish());
}

void train(const std::string& name) {
  // [snippet consumer]
  bc::Consumer consumer({.stream = name, .budget = {"boxes", 256}});
  for (const bc::Batch& batch : consumer) {
    const auto boxes = batch.rows<float>("boxes");
    std::printf("%zu images with %zu boxes of %lld numbers\n", batch.size(), boxes.rows().size(),
                static_cast<long long>(boxes.row_shape()[0]));
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (boxes[i].size() != boxes_of(batch.sample_ids()[i])) std::printf("wrong\n");
    }
  }
  // [snippet end]
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string name = argc > 1 ? argv[1] : "ragged";
  // [snippet options]
  bc::ProducerOptions options;
  options.stream = name;
  options.schema = {{"boxes", bc::DType::f32, bc::Axis{"boxes"}, {4}},
                    {"classes", bc::DType::i64, bc::Axis{"boxes"}}};
  options.rows_per_sample = {{"boxes", 6}};  // about: it divides the memory
  // [snippet end]
  options.samples_per_epoch = images;
  options.epochs = 1;
  options.wait_for = 1;
  bc::Producer producer(options);
  std::thread serving([&] { serve(producer); });
  train(name);
  serving.join();
} catch (const bc::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
