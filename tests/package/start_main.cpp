// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// A trainer that starts its stream with the command that was installed beside the library.
#include <batchcast/batchcast.hpp>

#include <cstdio>

namespace bc = batchcast;

int main() {
  bc::Consumer consumer({.stream = "package-start",
                         .start = {.source = "synthetic:8", .memory = 1 << 20, .idle_exit_s = 1}});
  const auto batch = consumer.next();
  std::printf("%zu samples of a stream of its own\n",
              batch ? static_cast<std::size_t>(batch->size()) : 0);
  return batch ? 0 : 1;
}
