// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace batchcast::inline v0_1::detail {

/// A whole file as read-only memory, of the size that it had when opened. If another process
/// shortens the file while it is mapped, this process ends (SIGBUS): replace data files, do not
/// shrink them.
class MappedFile {
 public:
  /// Throws BadDataset, naming `path`, unless it is a regular file that can be read.
  explicit MappedFile(std::string path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// The last part of the path.
  [[nodiscard]] std::string_view name() const noexcept;
  /// Says that small pieces will be read in no order, so that reading beyond them is useless.
  void expect_random_reads() const noexcept;

 private:
  void unmap() noexcept;

  std::string path_;
  std::span<const std::byte> bytes_;
};

}  // namespace batchcast::inline v0_1::detail
