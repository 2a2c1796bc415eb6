// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/board.hpp>
#include <batchcast/ring/memory.hpp>

#include <cstdint>

namespace batchcast::inline v0_1::detail {

/// How the producer seals memory that consumers map and may not write: no process can map it
/// writable any more, and its size stays.
inline constexpr Seals sealed_from_consumers =
    Seals::shrink | Seals::grow | Seals::future_write | Seals::seal;

/// A ring's board: a sealed segment, and the producer's writable mapping. Consumers keep their
/// mappings when this is destroyed.
class BoardMemory {
 public:
  /// Formats a fresh board. Throws OutOfMemory, SystemError.
  explicit BoardMemory(const BoardSpec& spec)
      : segment_(Segment::create_small("board", whole_pages(board_bytes_for(spec)))),
        mapping_(segment_, MapMode::read_write) {
    format_board({mapping_.data(), segment_.bytes()}, spec);
    segment_.seal(sealed_from_consumers);
  }

  [[nodiscard]] const Segment& segment() const noexcept { return segment_; }
  [[nodiscard]] Board board() noexcept { return Board(mapping_.data()); }

 private:
  [[nodiscard]] static std::uint64_t whole_pages(std::uint64_t bytes) noexcept {
    const std::uint64_t page = page_bytes();
    return (bytes + page - 1) / page * page;
  }

  Segment segment_;
  Mapping mapping_;
};

}  // namespace batchcast::inline v0_1::detail
