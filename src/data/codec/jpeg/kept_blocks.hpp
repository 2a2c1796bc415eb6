// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "data/codec/jpeg/entropy.hpp"
#include "data/codec/jpeg/kept_form.hpp"

// From a row's blocks to their kept form and back, at the best SIMD level of this machine. No
// function allocates.
namespace batchcast::inline v0_1::detail {

/// A component's quantizer, in two orders. Products of 16 bits wrap, as nothing is kept whose
/// products do not fit.
struct KeptQuantizer {
  alignas(64) std::array<std::uint16_t, 64> natural{};
  alignas(64) std::array<std::uint16_t, 64> ordered{};  ///< in kept_order
  bool is_narrow = true;                                ///< none is above 255

  /// `zigzag`: as a JPEG file has it.
  void set(const std::array<std::uint16_t, 64>& zigzag) noexcept;
};

/// Blocks of a row, in their kept form.
struct KeptBlocks {
  const std::uint8_t* heads = nullptr;
  const std::uint8_t* lengths = nullptr;
  const std::uint8_t* bodies = nullptr;
  const std::int16_t* dcs = nullptr;  ///< not dequantised
};

/// A row that is being packed: where the next block's head, length, DC coefficient and body go.
/// There is room for kept_dc_max, kept_body_max and, behind the bodies, kept_slack.
struct KeptRow {
  std::uint8_t* head = nullptr;
  std::uint8_t* length = nullptr;
  std::uint8_t* dc = nullptr;
  std::uint8_t* body = nullptr;
  std::int32_t before = 0;  ///< the DC coefficient of the block before
  const KeptQuantizer* quantizer = nullptr;

  void add_dc(std::int32_t value) noexcept {
    const std::int32_t difference = value - before;
    before = value;
    if (difference >= -127 && difference <= 127) {
      *dc++ = static_cast<std::uint8_t>(128 + difference);
      return;
    }
    const auto narrow = static_cast<std::int16_t>(value);
    *dc++ = 0;
    std::memcpy(dc, &narrow, sizeof narrow);
    dc += sizeof narrow;
  }
};

/// Whether all products of a block with a quantizer fit into 16 bits.
[[nodiscard]] bool kept_products_fit(const JpegBlock& block,
                                     const KeptQuantizer& quantizer) noexcept;

/// Makes `count` blocks, dequantised. Heads must be valid. Of any other bytes it reads at
/// most kept_slack beyond the last body.
void expand_kept_blocks(const KeptBlocks& kept, std::size_t count, const KeptQuantizer& quantizer,
                        JpegBlock* blocks) noexcept;

/// Writes `count` blocks, which are not dequantised, without their DC coefficients. `bodies` has
/// room for kept_body_max bytes each, and kept_slack more. Returns the bytes written there; nothing
/// where a product with the quantizer does not fit into 16 bits.
[[nodiscard]] std::optional<std::size_t> pack_kept_blocks(
    const JpegBlock* blocks, std::size_t count, const KeptQuantizer& quantizer, std::uint8_t* heads,
    std::uint8_t* lengths, std::uint8_t* bodies) noexcept;

/// For tests: whether AVX-512 with VBMI2 is used where the machine has it.
void allow_kept_vbmi(bool allowed) noexcept;

}  // namespace batchcast::inline v0_1::detail
