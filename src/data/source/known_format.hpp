// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace batchcast::inline v0_1::detail {

/// Formats that users give to sources which read something else.
enum class KnownFormat : std::uint8_t {
  zip,
  gzip,
  zstandard,
  xz,
  bzip2,
  lz4,
  parquet,
  arrow,
  hdf5,
  safetensors,
};

/// What the bytes of a whole file begin with (and Parquet's end with); nothing for all other
/// formats. Two bytes alone never decide, so that a file of small numbers is not taken for one.
[[nodiscard]] std::optional<KnownFormat> known_format(std::span<const std::byte> file) noexcept;

/// `compressed with xz`, `a zip archive`: the end of a sentence that begins `The file is`.
[[nodiscard]] std::string_view description_of(KnownFormat format) noexcept;

/// The command that unpacks the file and keeps it; empty where the format is not a compressed file.
[[nodiscard]] std::string unpacking_command(KnownFormat format, std::string_view path);

}  // namespace batchcast::inline v0_1::detail
