// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace batchcast::inline v0_1::detail {

/// The orientation, 1 to 8, in EXIF data: a TIFF header and what follows, perhaps after "Exif" and
/// two zeros. 1 where they have none or are broken, as viewers do.
[[nodiscard]] int exif_orientation(std::span<const std::byte> exif) noexcept;

/// The EXIF data in what a JPEG's APP1 marker holds, if it holds any.
[[nodiscard]] std::optional<std::span<const std::byte>> exif_of_app1(
    std::span<const std::byte> content) noexcept;

}  // namespace batchcast::inline v0_1::detail
