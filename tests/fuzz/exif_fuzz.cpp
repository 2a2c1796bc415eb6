// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/codec/exif.hpp"

#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const int orientation = batchcast::detail::exif_orientation(fuzz::bytes_of(data, size));
  BATCHCAST_ASSERT(orientation >= 1 && orientation <= 8);
  return 0;
}
