// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// A trainer in C++ for a process that has the Python package's too: each has its own hidden copy of
// batchcast's headers and its own handler of faults.
#include <batchcast/consumer.hpp>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <numeric>
#include <optional>

namespace {

struct Trainer {
  batchcast::Consumer consumer;
  std::optional<batchcast::Batch> batch = std::nullopt;

  [[nodiscard]] auto image() const { return batch->field<std::uint8_t>(std::size_t{0}); }
};

}  // namespace

#define VISIBLE extern "C" __attribute__((visibility("default")))

VISIBLE void* trainer_attach(const char* stream, std::uint64_t batch_size) {
  try {
    return new Trainer{
        batchcast::Consumer({.stream = stream, .batch_size = batch_size, .name = "c++"})};
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return nullptr;
  }
}

/// The sum of the next batch's first field; -1 at the end of an epoch, -2 for what failed.
VISIBLE std::int64_t trainer_next(void* handle) {
  Trainer& trainer = *static_cast<Trainer*>(handle);
  try {
    trainer.batch.reset();
    trainer.batch = trainer.consumer.next();
    if (!trainer.batch) return -1;
    const auto image = trainer.image();
    const auto elements = image.span();
    return std::accumulate(elements.begin(), elements.end(), std::int64_t{0});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return -2;
  }
}

/// Writes `mark` into the first bytes of the batch. Returns how many of them it finds there.
VISIBLE std::uint64_t trainer_write(void* handle, unsigned char mark, std::uint64_t count) {
  auto* const bytes = const_cast<std::uint8_t*>(static_cast<Trainer*>(handle)->image().data());
  std::memset(bytes, mark, count);
  std::uint64_t found = 0;
  for (std::uint64_t i = 0; i < count; ++i) found += bytes[i] == mark ? 1 : 0;
  return found;
}

VISIBLE void trainer_detach(void* handle) { delete static_cast<Trainer*>(handle); }
