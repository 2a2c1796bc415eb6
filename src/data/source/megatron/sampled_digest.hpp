// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/fingerprint_builder.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace batchcast::inline v0_1::detail {

/// Up to this many bytes a file is digested whole.
inline constexpr std::size_t digested_whole_max = std::size_t{64} << 20;
inline constexpr std::size_t digested_block_bytes = std::size_t{64} << 10;
/// Blocks of a larger file: the first, the last, and others at equal distances.
inline constexpr std::size_t digested_blocks = 256;

/// Adds the size of `bytes`, and all of them or those blocks. A mapped file is read there: some
/// milliseconds where it is in memory.
inline void add_sampled(FingerprintBuilder& builder, std::span<const std::byte> bytes) noexcept {
  const auto add = [&](std::size_t first, std::size_t count) {
    builder.add(std::string_view(reinterpret_cast<const char*>(bytes.data()) + first, count));
  };
  builder.add(std::uint64_t{bytes.size()});
  if (bytes.size() <= digested_whole_max) return add(0, bytes.size());
  const std::size_t last = bytes.size() - digested_block_bytes;
  for (std::size_t block = 0; block < digested_blocks; ++block) {
    // In two factors, so that no product overflows.
    const std::size_t steps = digested_blocks - 1;
    add(last / steps * block + last % steps * block / steps, digested_block_bytes);
  }
}

}  // namespace batchcast::inline v0_1::detail
