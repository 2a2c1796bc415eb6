// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/error.hpp>

#include "data/source/idx/idx_file.hpp"
#include "fuzz.hpp"

// An IDX file, gzipped or not.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::InputFile input(fuzz::bytes_of(data, size));
  try {
    const batchcast::detail::IdxFile file(input.path());
    const std::size_t width = batchcast::detail::size_of(file.header().type);
    BATCHCAST_ASSERT(file.data().size() == file.header().data_bytes);
    BATCHCAST_ASSERT(file.data().size() % width == 0);
    BATCHCAST_ASSERT(file.integers().size() == file.data().size() / width);
  } catch (const batchcast::BadDataset&) {
  }
  return 0;
}
