// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/source/npy/npy_header.hpp"

#include <batchcast/core/error.hpp>

#include "data/source/source_kinds.hpp"
#include "fuzz.hpp"

// A .npy file: the array that its header speaks of lies inside it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = fuzz::bytes_of(data, size);
  try {
    const batchcast::detail::NpyHeader header =
        batchcast::detail::parse_npy_header(input, "input.npy");
    BATCHCAST_ASSERT(header.data_offset <= size && header.data_bytes <= size - header.data_offset);
  } catch (const batchcast::BadDataset&) {
  }
  const fuzz::InputFile file(input);
  try {
    const auto source = batchcast::detail::open_npy("image=" + file.path(),
                                                    batchcast::detail::SourceOptions("npy", {}));
    batchcast::SampleParts parts;
    source->read(source->size() - 1, parts);
    const batchcast::PartSpec& spec = source->parts().front();
    std::size_t expected = size_of(spec.dtype);
    for (const std::int64_t extent : spec.shape) expected *= static_cast<std::size_t>(extent);
    BATCHCAST_ASSERT(parts[0].size() == expected);
    volatile std::byte last = parts[0].back();
    static_cast<void>(last);
  } catch (const batchcast::BadDataset&) {
  }
  return 0;
}
