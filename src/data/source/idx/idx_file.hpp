// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/source/mapped_file.hpp"

namespace batchcast::inline v0_1::detail {

/// Element types of the IDX format, by its codes. Those of several bytes are big-endian.
enum class IdxType : std::uint8_t { u8 = 8, i8 = 9, i16 = 11, i32 = 12, f32 = 13, f64 = 14 };

struct IdxHeader {
  IdxType type = IdxType::u8;
  std::vector<std::int64_t> shape;
  std::size_t data_offset = 0;
  std::uint64_t data_bytes = 0;
};

[[nodiscard]] std::size_t size_of(IdxType type) noexcept;

/// `start` is at least the first 1,028 bytes of the file, or all of it. Throws BadDataset, in which
/// `name` names the file.
[[nodiscard]] IdxHeader parse_idx_header(std::span<const std::byte> start, std::string_view name);

struct UnpackedIdx {
  std::unique_ptr<std::byte[]> bytes;
  std::size_t size = 0;
};

/// Unpacks a gzip file, whose first bytes say how much there must be. Throws BadDataset where it is
/// broken, or holds more or less.
[[nodiscard]] UnpackedIdx unpack_idx(std::span<const std::byte> packed, std::string_view name);

/// A file of the IDX format, gzipped or not.
class IdxFile {
 public:
  explicit IdxFile(const std::string& path);

  [[nodiscard]] const IdxHeader& header() const noexcept { return header_; }
  [[nodiscard]] std::span<const std::byte> data() const noexcept { return data_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::string_view name() const noexcept {
    return std::string_view(path_).substr(path_.rfind('/') + 1);
  }
  /// The file's size on disk.
  [[nodiscard]] std::uint64_t file_bytes() const noexcept { return file_bytes_; }
  /// All elements as signed numbers; throws BadDataset where they are not whole.
  [[nodiscard]] std::vector<std::int64_t> integers() const;

 private:
  std::string path_;
  std::optional<MappedFile> mapped_;  // where it is not packed
  UnpackedIdx unpacked_;
  IdxHeader header_;
  std::span<const std::byte> data_;
  std::uint64_t file_bytes_ = 0;
};

}  // namespace batchcast::inline v0_1::detail
