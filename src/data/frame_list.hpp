// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/error.hpp>
#include <batchcast/core/text.hpp>
#include <batchcast/data/source.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>

// The frames of a clip as the bytes of one part: their lengths as u64, then one after the other.
namespace batchcast::inline v0_1::detail {

inline constexpr std::size_t frames_max = 1024;

/// Makes room for frames of these lengths. Returns what follows the lengths, for the caller to
/// write.
[[nodiscard]] inline std::span<std::byte> make_frame_list(std::size_t part,
                                                          std::span<const std::uint64_t> lengths,
                                                          SampleParts& parts) {
  const std::uint64_t sum = std::accumulate(lengths.begin(), lengths.end(), std::uint64_t{0});
  const std::span<std::byte> all =
      parts.make(part, lengths.size_bytes() + static_cast<std::size_t>(sum));
  std::memcpy(all.data(), lengths.data(), lengths.size_bytes());
  return all.subspan(lengths.size_bytes());
}

/// Calls `take(number, bytes)` for each of `count` frames. Throws BadSample where the part is no
/// list of them, and with the frame's number in front where `take` throws it.
template <class Take>
void for_each_frame(std::span<const std::byte> part, std::size_t count, const Take& take) {
  const std::size_t head = count * sizeof(std::uint64_t);
  if (part.size() < head) throw BadSample("it is no list of frames");
  std::span<const std::byte> rest = part.subspan(head);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t length = 0;
    std::memcpy(&length, part.data() + i * sizeof length, sizeof length);
    if (length > rest.size()) throw BadSample("it is no list of frames");
    try {
      take(i, rest.first(static_cast<std::size_t>(length)));
    } catch (const BadSample& bad) {
      throw BadSample(text("frame {}: {}", i, bad.what()));
    }
    rest = rest.subspan(static_cast<std::size_t>(length));
  }
}

}  // namespace batchcast::inline v0_1::detail
