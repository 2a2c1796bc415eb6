// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

// Takes a stream in batches of any size: `example_02_consumer [STREAM [BATCH_SIZE]]`.
#include <batchcast/consumer.hpp>

#include <cstdio>
#include <cstdlib>

namespace bc = batchcast;

namespace {

double loss = 0;

void train(bc::FieldView<const float> image, bc::FieldView<const std::int64_t> label) {
  for (std::size_t i = 0; i < image.size(); ++i)
    loss += image[i][0] - static_cast<float>(label[i][0]);
}

void consume(const char* name, std::uint64_t size) {
  // [snippet consumer]
  bc::Consumer consumer({.stream = name, .batch_size = size, .name = "lr-0.1"});
  while (consumer.has_next_epoch()) {
    for (const bc::Batch& batch : consumer)  // one epoch, zero-copy
      // field<T>(name) is a view of all the batch's samples; T must fit the field's dtype
      train(batch.field<float>("image"), batch.field<std::int64_t>("label"));
    std::printf("epoch %lu is done\n", consumer.epoch() - 1);
  }
  // [snippet end]
  const bc::ConsumerStats stats = consumer.stats();
  std::printf("%lu samples in %lu batches, %lu epochs with matching receipts\n", stats.samples,
              stats.batches, stats.epochs_matched);
}

}  // namespace

int main(int argc, char** argv) try {
  consume(argc > 1 ? argv[1] : "demo", argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 37);
} catch (const bc::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
