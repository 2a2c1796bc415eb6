// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "data/codec/decoder.hpp"

namespace batchcast::inline v0_1::detail {

/// Goes by the content: names do not count.
[[nodiscard]] std::optional<ImageFormat> image_format_of(
    std::span<const std::byte> encoded) noexcept;

/// What bytes of no format that we read seem to be, for messages: "a GIF", "HTML or XML".
[[nodiscard]] std::string describe_content(std::span<const std::byte> bytes);

}  // namespace batchcast::inline v0_1::detail
