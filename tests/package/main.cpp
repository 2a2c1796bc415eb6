// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// A user's program: eight samples through a stream, both ends in one process.
#include <batchcast/batchcast.hpp>
#include <batchcast/version.hpp>

#include <cstdint>
#include <cstdio>
#include <thread>

namespace bc = batchcast;

int main() {
  constexpr std::uint64_t samples = 8;
  bc::Producer producer({.stream = "package-test",
                         .schema = {{"label", bc::DType::i64, {}}},
                         .memory = 1 << 20,
                         .samples_per_epoch = samples,
                         .epochs = 1,
                         .wait_for = 1});
  std::int64_t sum = 0;
  std::thread trainer([&sum] {
    bc::Consumer consumer({.stream = "package-test", .batch_size = 3});
    for (const bc::Batch& batch : consumer) {
      for (const std::int64_t label : batch.field<std::int64_t>("label").span()) sum += label;
    }
  });
  std::int64_t next = 1;
  while (auto loan = producer.loan(samples)) {
    for (std::int64_t& label : loan->field<std::int64_t>("label").span()) label = next++;
    for (std::size_t i = 0; i < loan->size(); ++i) {
      loan->sample_ids()[i] = loan->index_in_epoch() + i;
    }
    loan->publish();
  }
  trainer.join();
  std::printf("batchcast %s: %lld\n", bc::version.data(), static_cast<long long>(sum));
  return sum == 36 ? 0 : 1;
}
