// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

// Texts of different lengths, read in runs of one length: serves them, and trains with a window in
// the same process. `example_14_windows [STREAM]`.
#include <batchcast/batchcast.hpp>

#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

namespace bc = batchcast;

namespace {

constexpr std::uint64_t texts = 1'000;

void serve(bc::Producer& producer) {
  std::int32_t token = 0;
  while (auto loan = producer.loan(32)) {
    std::vector<std::uint64_t> counts;
    for (const std::uint64_t text : loan->sample_ids()) counts.push_back(50 + text * 7 % 300);
    if (!loan->take_rows("tokens", counts)) continue;
    for (std::size_t i = 0; i < loan->size(); ++i) {
      for (std::int32_t& one : loan->rows<std::int32_t>(i, "tokens").span()) one = token++;
    }
    loan->publish();
  }
  static_cast<void>(producer.finish());
}

void train(const std::string& name) {
  std::uint64_t right = 0;
  std::uint64_t documents = 0;
  // [snippet consumer]
  bc::Consumer consumer({.stream = name, .window = {"tokens", 128, 4, 1}});
  for (const bc::Batch& batch : consumer) {
    const auto tokens = batch.field<std::int32_t>("tokens");
    for (std::size_t run = 0; run < batch.size(); ++run) {
      const auto inputs = tokens[run].first(128);
      const auto targets = tokens[run].last(128);
      for (std::size_t i = 0; i < 128; ++i) right += inputs[i] + 1 == targets[i];
    }
    documents += batch.offsets().size() - 1;
  }
  // [snippet end]
  const bc::ConsumerStats stats = consumer.stats();
  std::printf("%llu tokens of %llu parts of texts, %llu left over\n",
              static_cast<unsigned long long>(right), static_cast<unsigned long long>(documents),
              static_cast<unsigned long long>(stats.dropped_rows));
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string name = argc > 1 ? argv[1] : "windows";
  bc::ProducerOptions options;
  options.stream = name;
  options.schema = {{"tokens", bc::DType::i32, bc::Axis{"tokens"}}};
  options.rows_per_sample = {{"tokens", 200}};
  options.samples_per_epoch = texts;
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
