// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

// Tars and compressed files byte by byte, so that tests can make what no tool would write.
namespace batchcast::test {

inline constexpr std::size_t tar_block = 512;

namespace tar_detail {

inline void put(std::string& header, std::size_t at, std::string_view text) {
  std::copy(text.begin(), text.end(), header.begin() + static_cast<std::ptrdiff_t>(at));
}

inline void put_checksum(std::string& header) {
  put(header, 148, "        ");
  const unsigned sum =
      std::accumulate(header.begin(), header.end(), 0U,
                      [](unsigned total, char c) { return total + static_cast<unsigned char>(c); });
  char text[32];
  std::snprintf(text, sizeof text, "%06o", sum);
  put(header, 148, std::string(text) + std::string("\0 ", 2));
}

inline std::string octal(std::size_t value, int digits) {
  char text[32];
  std::snprintf(text, sizeof text, "%0*zo", digits, value);
  return text;
}

inline std::string little_endian(std::uint64_t value, std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) text.push_back(static_cast<char>(value >> (8 * i)));
  return text;
}

inline std::uint32_t crc32(std::string_view bytes) {
  std::uint32_t crc = 0xffff'ffff;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb8'8320 : 0);
  }
  return ~crc;
}

// `14 path=a/b/c\n`: the number counts itself.
inline std::string pax_record(std::string_view key, std::string_view value) {
  const std::size_t rest = key.size() + value.size() + 3;
  std::size_t length = rest;
  while (std::to_string(length).size() + rest != length) {
    length = std::to_string(length).size() + rest;
  }
  return std::to_string(length) + " " + std::string(key) + "=" + std::string(value) + "\n";
}

}  // namespace tar_detail

/// A ustar header with its checksum.
[[nodiscard]] inline std::string tar_header(std::string_view name, std::size_t byte_count,
                                            char type = '0', std::string_view target = {}) {
  using tar_detail::put;
  std::string header(tar_block, '\0');
  put(header, 0, name.substr(0, 100));
  put(header, 100, "0000644");
  put(header, 108, "0000000");
  put(header, 116, "0000000");
  put(header, 124, tar_detail::octal(byte_count, 11));
  put(header, 136, "00000000000");
  header[156] = type;
  put(header, 157, target);
  put(header, 257, std::string_view("ustar\00000", 8));
  tar_detail::put_checksum(header);
  return header;
}

/// Bytes, and zeros up to the next block.
[[nodiscard]] inline std::string tar_padded(std::string_view bytes) {
  std::string text(bytes);
  text.resize((text.size() + tar_block - 1) / tar_block * tar_block, '\0');
  return text;
}

/// Appends members to a tar.
class TarWriter {
 public:
  TarWriter& add(std::string_view name, std::string_view bytes) {
    return add_raw(tar_header(name, bytes.size()) + tar_padded(bytes));
  }
  /// The name as pax (POSIX 2001) writes long ones.
  TarWriter& add_pax(std::string_view name, std::string_view bytes) {
    const std::string record = tar_detail::pax_record("path", name);
    add_raw(tar_header("PaxHeaders/x", record.size(), 'x') + tar_padded(record));
    return add("short", bytes);
  }
  /// The name as GNU tar writes long ones.
  TarWriter& add_gnu(std::string_view name, std::string_view bytes) {
    const std::string text = std::string(name) + '\0';
    add_raw(tar_header("././@LongLink", text.size(), 'L') + tar_padded(text));
    return add("short", bytes);
  }
  TarWriter& add_folder(std::string_view name) {
    return add_raw(tar_header(std::string(name) + "/", 0, '5'));
  }
  TarWriter& add_link(std::string_view name, std::string_view target) {
    return add_raw(tar_header(name, 0, '2', target));
  }
  TarWriter& add_hard_link(std::string_view name, std::string_view target) {
    return add_raw(tar_header(name, 0, '1', target));
  }
  TarWriter& add_raw(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }

  /// So far, without an end mark.
  [[nodiscard]] const std::string& bytes() const noexcept { return bytes_; }
  /// With the end mark.
  [[nodiscard]] std::string finished() const { return bytes_ + std::string(2 * tar_block, '\0'); }

 private:
  std::string bytes_;
};

/// A gzip file whose blocks are stored, not compressed.
[[nodiscard]] inline std::string gzip_of(std::string_view bytes) {
  std::string text("\x1f\x8b\x08\0\0\0\0\0\0\x03", 10);
  std::string_view left = bytes;
  do {
    const std::string_view block = left.substr(0, 65'535);
    left.remove_prefix(block.size());
    text += left.empty() ? '\1' : '\0';
    text +=
        tar_detail::little_endian(block.size(), 2) + tar_detail::little_endian(~block.size(), 2);
    text += block;
  } while (!left.empty());
  return text + tar_detail::little_endian(tar_detail::crc32(bytes), 4) +
         tar_detail::little_endian(bytes.size(), 4);
}

/// A Zstandard frame whose blocks are stored.
[[nodiscard]] inline std::string zstd_of(std::string_view bytes) {
  // One segment, its size in eight bytes, no checksum.
  std::string text("\x28\xb5\x2f\xfd\xe0", 5);
  text += tar_detail::little_endian(bytes.size(), 8);
  std::string_view left = bytes;
  do {
    const std::string_view block = left.substr(0, 100'000);
    left.remove_prefix(block.size());
    text += tar_detail::little_endian((left.empty() ? 1U : 0U) | block.size() << 3, 3);
    text += block;
  } while (!left.empty());
  return text;
}

}  // namespace batchcast::test
