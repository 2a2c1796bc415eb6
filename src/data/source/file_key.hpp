// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/data/source.hpp>

#include <sys/stat.h>

#include <array>
#include <cstdint>
#include <string_view>

namespace batchcast::inline v0_1::detail {

/// Stands for `byte_count` bytes at `offset` of a file, as long as the file does not change.
[[nodiscard]] inline PartKey key_of_file(const struct stat& file, std::uint64_t offset,
                                         std::uint64_t byte_count) noexcept {
  const auto ns = [](const timespec& time) {
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  };
  const std::array<std::uint64_t, 8> facts = {0x656C6966,  // no hash of bytes begins so
                                              static_cast<std::uint64_t>(file.st_dev),
                                              static_cast<std::uint64_t>(file.st_ino),
                                              static_cast<std::uint64_t>(file.st_size),
                                              static_cast<std::uint64_t>(ns(file.st_mtim)),
                                              static_cast<std::uint64_t>(ns(file.st_ctim)),
                                              offset,
                                              byte_count};
  const std::string_view bytes(reinterpret_cast<const char*>(facts.data()), sizeof facts);
  return {fingerprint_of(bytes), ns(file.st_ctim)};
}

}  // namespace batchcast::inline v0_1::detail
