// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/error.hpp>
#include <batchcast/data/source.hpp>

#include <stdlib.h>

#include "data/webdataset/pattern.hpp"
#include "fuzz.hpp"

namespace {

// Names are looked up in a folder that is empty, and is gone already.
bool enter_empty_folder() {
  char name[] = "/tmp/batchcast-fuzz-XXXXXX";
  return ::mkdtemp(name) != nullptr && ::chdir(name) == 0 && ::rmdir(name) == 0;
}

}  // namespace

// A dataset's spec, as users write it. None leads to a dataset here, so all are refused.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const bool entered = enter_empty_folder();
  BATCHCAST_ASSERT(entered);
  const std::string_view text = fuzz::text_of(data, size);
  try {
    BATCHCAST_ASSERT(!batchcast::detail::expand_braces(text).empty());
  } catch (const batchcast::InvalidArgument&) {
  }
  const bool leads_out = text.find_first_of("/~") != std::string_view::npos ||
                         text.find("..") != std::string_view::npos;
  if (leads_out) return 0;
  try {
    const auto source = batchcast::open_source(text);
    BATCHCAST_ASSERT(source == nullptr);
  } catch (const batchcast::InvalidArgument&) {
  } catch (const batchcast::BadDataset&) {
  }
  return 0;
}
