// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstddef>
#include <cstdint>

#include "data/codec/jpeg/kept_blocks.hpp"

// The kept form by AVX-512 with VBMI and VBMI2, a block in a few instructions. Highway 1.0.3 has no
// level for these unless all of a program's files have it.
namespace batchcast::inline v0_1::detail {

/// Whether the machine has it; asks the processor.
[[nodiscard]] bool kept_machine_has_vbmi() noexcept;
/// The same, remembered, and whether tests allow it.
[[nodiscard]] bool kept_has_vbmi() noexcept;

// As in kept_blocks.hpp. Where the machine lacks it, they must not be called.
void expand_kept_vbmi(const KeptBlocks& kept, std::size_t count, const KeptQuantizer& quantizer,
                      JpegBlock* blocks) noexcept;
[[nodiscard]] std::size_t pack_kept_vbmi(const JpegBlock* blocks, std::size_t count,
                                         std::uint8_t* heads, std::uint8_t* lengths,
                                         std::uint8_t* bodies) noexcept;

}  // namespace batchcast::inline v0_1::detail
