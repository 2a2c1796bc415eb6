// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// A library with a hidden copy of batchcast's headers in it, as a Python extension or a plug-in
// has.
#include <batchcast/consumer.hpp>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <optional>

namespace {

struct Plugin {
  batchcast::Consumer consumer;
  std::optional<batchcast::Batch> batch = std::nullopt;
};

}  // namespace

#define VISIBLE extern "C" __attribute__((visibility("default")))

VISIBLE void* plugin_attach(const char* stream, const char* name) {
  try {
    return new Plugin{batchcast::Consumer({.stream = stream, .batch_size = 16, .name = name})};
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return nullptr;
  }
}

/// Writes `mark` over the first sample of the next batch. 0: what was written is there, and ids
/// are what they should be.
VISIBLE int plugin_write(void* handle, unsigned char mark) {
  Plugin& plugin = *static_cast<Plugin*>(handle);
  try {
    do plugin.batch = plugin.consumer.next();
    while (!plugin.batch);
    const auto image = plugin.batch->field<std::uint8_t>(std::size_t{0});
    auto* const bytes = const_cast<std::uint8_t*>(image.data());
    std::memset(bytes, mark, 64);
    const std::uint64_t samples = plugin.consumer.samples_per_epoch();
    for (const std::uint64_t id : plugin.batch->sample_ids()) {
      if (id >= samples) return 2;
    }
    for (std::size_t i = 0; i < 64; ++i) {
      if (bytes[i] != mark) return 1;
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 3;
  }
}

VISIBLE void plugin_detach(void* handle) { delete static_cast<Plugin*>(handle); }
