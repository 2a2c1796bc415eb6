// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// trainer STREAM: a trainer that is headers alone. It reads one epoch of a stream that another
// process serves, and says whether each sample came once.
#include <batchcast/consumer.hpp>

#include "half.hpp"

#include <cstdio>
#include <exception>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    batchcast::Consumer consumer({.stream = argv[1], .batch_size = 7, .name = "headers"});
    Sum sum;
    for (const batchcast::Batch& batch : consumer) add(sum, batch);
    const std::uint64_t samples = consumer.samples_per_epoch();
    const bool right = sum.count == samples && sum.ids == samples * (samples - 1) / 2 &&
                       consumer.stats().epochs_matched == 1;
    std::printf("%s: %llu samples\n", right ? "each sample once" : "WRONG",
                static_cast<unsigned long long>(sum.count));
    return right ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 3;
  }
}
