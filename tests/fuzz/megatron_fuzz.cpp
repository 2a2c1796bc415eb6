// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/source/megatron/megatron_index.hpp"

#include <batchcast/core/error.hpp>

#include "fuzz.hpp"

// An index of Megatron-LM: each document that it speaks of lies inside the .bin.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = fuzz::bytes_of(data, size);
  constexpr std::uint64_t bin_bytes = 4096;
  try {
    const batchcast::detail::MegatronIndex index(input, "input.idx", bin_bytes);
    const std::uint64_t elements = bin_bytes / size_of(index.dtype());
    BATCHCAST_ASSERT(index.elements() == elements);
    for (std::uint64_t document = 0; document < index.lengths()->size(); ++document) {
      std::uint64_t rows = 0;
      index.runs_of(document, [&](batchcast::detail::MegatronIndex::Run run) {
        BATCHCAST_ASSERT(run.count > 0 && run.first <= elements);
        BATCHCAST_ASSERT(run.count <= elements - run.first);
        rows += run.count;
      });
      BATCHCAST_ASSERT(rows == (*index.lengths())[document]);
    }
  } catch (const batchcast::BadDataset&) {
  }
  return 0;
}
