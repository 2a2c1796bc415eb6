// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/dtype.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "data/source/mapped_file.hpp"

namespace batchcast::inline v0_1::detail {

/// What the user says about the files of a `tokens:` source.
struct TokenFileOptions {
  std::optional<DType> dtype;
  /// Set: raw tokens follow this many bytes, and the file's header is not read.
  std::optional<std::uint64_t> header_bytes;
};

/// Where the tokens of one file lie, and of which type they are.
struct TokenFile {
  DType dtype = DType::u16;
  std::size_t header_bytes = 0;
  std::span<const std::byte> tokens;  ///< whole tokens, in the mapped file
};

/// Reads .npy (a list of integers) and llm.c's files by their headers, and everything else as raw
/// tokens. Throws BadDataset for files that are neither, such as compressed ones, and for shortened
/// ones. Throws InvalidArgument where `options` contradict the header.
[[nodiscard]] TokenFile find_tokens(const MappedFile& file, const TokenFileOptions& options);

/// What the owner should know where tokens of `dtype` look like halves or quarters of wider ones:
/// every second token is 0, for instance. Empty where they do not.
[[nodiscard]] std::string remark_on_width(const TokenFile& file);

}  // namespace batchcast::inline v0_1::detail
