// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/dtype.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// What the header of a .npy file says about its array, which is in C order.
struct NpyHeader {
  DType dtype = DType::u8;
  std::vector<std::int64_t> shape;
  std::size_t data_offset = 0;
  std::uint64_t data_bytes = 0;
};

/// Whether `file` begins as .npy files do.
[[nodiscard]] bool is_npy(std::span<const std::byte> file) noexcept;

/// Reads versions 1 to 3. `file` is the whole file, and messages call it `name`. Throws BadDataset
/// unless it is an array of one of our types, in C order and complete.
[[nodiscard]] NpyHeader parse_npy_header(std::span<const std::byte> file, std::string_view name);

}  // namespace batchcast::inline v0_1::detail
