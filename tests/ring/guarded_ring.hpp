// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "child.hpp"

#include <batchcast/ring/fault_message.hpp>
#include <batchcast/ring/memory.hpp>
#include <batchcast/ring/private_chunks.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

namespace batchcast::testing {

inline constexpr std::uint64_t chunk = std::uint64_t{2} << 20;

/// A ring as a producer and a consumer see it. Its end lies in the middle of a chunk.
struct Guarded {
  explicit Guarded(std::uint64_t ring_bytes = 3 * chunk / 2, MemoryChoice pages = {page_bytes()})
      : segment(Segment::create("image", ring_bytes, pages).value()),
        producer(segment, MapMode::read_write) {
    for (std::uint64_t at = 0; at < ring_bytes; ++at) producer.data()[at] = byte_at(at);
    segment.seal(Seals::shrink | Seals::grow | Seals::future_write);
    batch.emplace(segment, MapMode::read_only);
    chunks.emplace(batch->data(), bytes(), written);
    range.emplace(batch->data(), bytes(), "imagenet-train", &*chunks);
  }

  static std::byte byte_at(std::uint64_t offset) { return static_cast<std::byte>(offset * 7 >> 3); }
  [[nodiscard]] std::uint64_t bytes() const { return 2 * producer.bytes(); }
  void write(std::uint64_t offset, int value) const {
    reinterpret_cast<volatile unsigned char*>(batch->data())[offset] =
        static_cast<unsigned char>(value);
  }
  [[nodiscard]] int read(std::uint64_t offset) const {
    return reinterpret_cast<const volatile unsigned char*>(batch->data())[offset];
  }
  [[nodiscard]] bool ring_is_as_filled() const {
    for (std::uint64_t at = 0; at < producer.bytes(); ++at) {
      if (producer.data()[at] != byte_at(at)) return false;
    }
    return true;
  }

  Segment segment;
  DoubleMapping producer;
  std::optional<DoubleMapping> batch;
  std::atomic<std::uint32_t> written{0};
  std::optional<PrivateChunks> chunks;
  std::optional<FaultRange> range;
};

inline void say(const char* text) {
  if (::write(STDERR_FILENO, text, std::strlen(text)) < 0) ::_exit(97);
}

inline bool says(const ChildEnd& end, const char* text) {
  return end.output.find(text) != std::string::npos;
}

}  // namespace batchcast::testing
