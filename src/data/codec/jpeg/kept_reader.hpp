// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "data/codec/jpeg/bitstream.hpp"
#include "data/codec/jpeg/entropy.hpp"
#include "data/codec/jpeg/kept_blocks.hpp"
#include "data/codec/jpeg/kept_form.hpp"

namespace batchcast::inline v0_1::detail {

/// The blocks of an entry (kept_form.hpp). It trusts nothing in it: a damaged entry is refused or
/// gives wrong pixels, and is never read outside. What stores entries knows the damage by a sum.
class KeptReader {
 public:
  /// Reads the head, and makes `header` of it, without codes and scans. `entry` must stay valid,
  /// and kept_slack bytes beyond it be readable. False where it is no entry.
  [[nodiscard]] bool open(std::span<const std::byte> entry, JpegHeader& header);

  /// Whether these MCU rows can be read: `take` does not look again.
  [[nodiscard]] bool has_rows(std::size_t first, std::size_t end) const noexcept;

  /// Makes blocks of a component, dequantised, from `first` on in its block row `row`.
  void take(std::size_t component, std::size_t row, std::size_t first,
            std::span<JpegBlock> blocks) noexcept;

 private:
  struct Component {
    std::size_t columns = 0;  ///< blocks of a row
    std::size_t down = 1;     ///< rows of an MCU row
    std::size_t before = 0;   ///< rows of an MCU row that other components have before it
    KeptQuantizer quantizer;
  };
  struct Row {
    const std::uint8_t* heads;
    const std::uint8_t* lengths;
    std::span<const std::uint8_t> dc;
    std::span<const std::uint8_t> bodies;
  };

  [[nodiscard]] std::size_t offset_of(std::size_t row) const noexcept;
  [[nodiscard]] std::size_t place_of(const Component& component, std::size_t row) const noexcept;
  /// Bytes of a row before its DC coefficients.
  [[nodiscard]] static std::size_t fixed_bytes(const Component& component) noexcept {
    return sizeof(std::uint16_t) + 2 * component.columns;
  }
  /// An entry lies in memory, long unused, and its rows apart: no processor guesses what comes
  /// next.
  void prefetch(std::size_t place, std::size_t skip, std::size_t bytes) const noexcept;
  [[nodiscard]] Row row_at(const Component& component, std::size_t row) const noexcept;
  [[nodiscard]] bool has_row(const Component& component, std::size_t row) const noexcept;
  void read_dc(std::span<const std::uint8_t> bytes, std::size_t count) noexcept;

  std::span<const std::uint8_t> entry_;
  std::size_t component_count_ = 0;
  std::size_t rows_in_mcu_ = 0;  // of all components
  std::size_t mcu_rows_ = 0;
  std::array<Component, 3> components_;
  std::vector<std::int16_t> dcs_;  // of one row
};

}  // namespace batchcast::inline v0_1::detail
