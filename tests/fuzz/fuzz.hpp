// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/assert.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

// What fuzz targets share. A target gives its input to a parser or decoder, lets the exceptions
// through that the parser's contract names, and asserts what must hold of all that was accepted.
// Whatever else is thrown, and whatever a sanitizer sees, is a finding.
namespace fuzz {

inline std::span<const std::byte> bytes_of(const std::uint8_t* data, std::size_t size) {
  return std::as_bytes(std::span(data, size));
}
inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Choices that a target makes by the input: its last bytes, so that a seed's first ones stay what
/// its format wants there. Zeros, once the input is used up.
class Choices {
 public:
  explicit Choices(std::span<const std::byte> input) : left_(input) {}

  /// 0 to `most`.
  [[nodiscard]] std::uint32_t up_to(std::uint32_t most) {
    std::uint64_t value = 0;
    for (int i = 0; i < 4 && !left_.empty(); ++i) {
      value = value << 8 | std::to_integer<std::uint64_t>(left_.back());
      left_ = left_.first(left_.size() - 1);
    }
    return static_cast<std::uint32_t>(value % (std::uint64_t{most} + 1));
  }

 private:
  std::span<const std::byte> left_;
};

/// A file that holds the input, for what takes a path.
class InputFile {
 public:
  explicit InputFile(std::span<const std::byte> bytes) : fd_(::memfd_create("input", 0)) {
    BATCHCAST_ASSERT(fd_ >= 0);
    const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
    BATCHCAST_ASSERT(written == static_cast<ssize_t>(bytes.size()));
  }
  ~InputFile() { ::close(fd_); }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

}  // namespace fuzz
