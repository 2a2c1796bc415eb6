// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/dtype.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace batchcast::cli {

/// An array in NumPy's file format, written row by row.
class NpyFile {
 public:
  struct Array {
    DType dtype = DType::u8;
    std::vector<std::int64_t> shape;
    /// The first extent is what comes: `finish` writes it into the header.
    bool has_any_rows = false;
  };
  /// Makes or empties the file. Throws SystemError.
  NpyFile(std::string path, const Array& array);

  /// The next bytes, in order. Throws SystemError.
  void append(std::span<const std::byte> bytes);
  /// Writes out what is buffered; call it last. Throws SystemError, and Error unless as many bytes
  /// came as the shape says.
  void finish();

  /// How NumPy calls that type; bf16, which it lacks, is seen as its bits (`<u2`).
  [[nodiscard]] static std::string_view type_of(DType dtype) noexcept;

 private:
  struct Close {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
  };
  void write(const void* bytes, std::size_t count);
  void finish_rows();

  std::string path_;
  Array array_;
  std::unique_ptr<std::FILE, Close> file_;
  std::uint64_t bytes_left_;  ///< of any rows: below the most that there can be
};

}  // namespace batchcast::cli
