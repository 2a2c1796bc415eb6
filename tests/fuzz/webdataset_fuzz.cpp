// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/error.hpp>
#include <batchcast/data/source.hpp>

#include "data/source/source_kinds.hpp"
#include "fuzz.hpp"

// A shard, plain or compressed: every sample of what is accepted can be named, and be read unless
// its own bytes are wrong.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::InputFile shard(fuzz::bytes_of(data, size));
  const bool skip = fuzz::Choices(fuzz::bytes_of(data, size)).up_to(1) == 0;
  const batchcast::detail::SourceOptions options(
      "webdataset", skip ? "unpack=memory&partial=skip" : "unpack=memory");
  try {
    const auto source = batchcast::detail::open_webdataset(shard.path(), options);
    BATCHCAST_ASSERT(source->size() > 0 && !source->parts().empty());
    static_cast<void>(source->fingerprint());
    batchcast::SampleParts parts;
    for (std::uint64_t sample = 0; sample < source->size(); ++sample) {
      BATCHCAST_ASSERT(!source->name_of(sample).empty());
      try {
        source->read(sample, parts);
      } catch (const batchcast::BadSample&) {
        continue;
      }
      BATCHCAST_ASSERT(parts.size() == source->parts().size());
      std::uint64_t sum = 0;
      for (std::size_t i = 0; i < parts.size(); ++i) {
        for (const std::byte b : parts[i]) sum += std::to_integer<std::uint64_t>(b);
      }
      volatile std::uint64_t read_all = sum;
      static_cast<void>(read_all);
    }
  } catch (const batchcast::BadDataset&) {
  }
  return 0;
}
