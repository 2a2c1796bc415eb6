// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// Serves batches of 64 images of f32 3x224x224 without filling them: what is left is the hand-off.
// Usage: python_feed STREAM CONSUMERS; until it is ended by a signal.
#include <batchcast/batchcast.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace bc = batchcast;

namespace {

constexpr std::uint64_t batch_size = 64;
constexpr std::uint64_t in_flight = 16;
constexpr std::uint64_t sample_bytes = 3 * 224 * 224 * sizeof(float) + 2 * sizeof(std::uint64_t);

void serve(const char* stream, std::uint32_t consumers) {
  bc::Producer producer(
      {.stream = stream,
       .schema = {{"image", bc::DType::f32, {3, 224, 224}}, {"label", bc::DType::i64}},
       .memory = in_flight * batch_size * sample_bytes + (64 << 20),
       .samples_per_epoch = std::uint64_t{1} << 40,
       .wait_for = consumers});
  while (auto loan = producer.loan(batch_size)) {
    const auto ids = loan->sample_ids();
    const auto labels = loan->field<std::int64_t>("label");
    for (std::size_t i = 0; i < ids.size(); ++i) labels[i][0] = static_cast<std::int64_t>(ids[i]);
    loan->publish();
  }
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s STREAM CONSUMERS\n", argv[0]);
    return 2;
  }
  serve(argv[1], static_cast<std::uint32_t>(std::atoi(argv[2])));
} catch (const bc::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
