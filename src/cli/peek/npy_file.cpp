// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/peek/npy_file.hpp"

#include <batchcast/core/error.hpp>

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <utility>

namespace batchcast::cli {
namespace {

constexpr std::size_t header_alignment = 64;
constexpr std::size_t preamble_bytes = 10;  // magic, version, length of the header

constexpr std::array<std::string_view, dtype_names.size()> types = {
    "|u1", "|i1", "<i2", "<i4", "<i8", "<u2", "<u4", "<u8", "<f2", "<u2", "<f4", "<f8", "|b1"};

constexpr std::uint64_t any_bytes = std::uint64_t{1} << 62;
constexpr std::int64_t any_rows = std::int64_t{1} << 62;  // the header has room for these digits

std::string header_of(const NpyFile::Array& array) {
  std::string shape;
  for (const std::int64_t extent : array.shape) shape += std::to_string(extent) + ", ";
  if (array.shape.size() > 1) shape.resize(shape.size() - 2);
  if (array.shape.size() == 1) shape.resize(shape.size() - 1);
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                 NpyFile::type_of(array.dtype), shape);
  // What is not known yet may take as many digits as there are.
  if (array.has_any_rows) {
    const std::size_t digits = std::to_string(array.shape.front()).size();
    text.append(std::to_string(any_rows).size() - digits, ' ');
  }
  const std::size_t used = preamble_bytes + text.size() + 1;
  text.append((header_alignment - used % header_alignment) % header_alignment, ' ');
  text += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(text.size() & 0xffU);
  header += static_cast<char>(text.size() >> 8U);
  return header + text;
}

}  // namespace

std::string_view NpyFile::type_of(DType dtype) noexcept {
  return types[static_cast<std::size_t>(dtype)];
}

NpyFile::NpyFile(std::string path, const Array& array)
    : path_(std::move(path)),
      array_(array),
      file_(std::fopen(path_.c_str(), "we")),
      bytes_left_(size_of(array.dtype)) {
  if (!file_) throw SystemError(text("batchcast: cannot write {}", path_), errno);
  for (const std::int64_t extent : array.shape) {
    bytes_left_ *= static_cast<std::uint64_t>(extent);
  }
  if (array_.has_any_rows) bytes_left_ = any_bytes;
  const std::string header = header_of(array);
  write(header.data(), header.size());
}

void NpyFile::append(std::span<const std::byte> bytes) {
  if (bytes.size() > bytes_left_) {
    throw Error(text("batchcast: {} was given more than its shape holds.", path_));
  }
  write(bytes.data(), bytes.size());
  bytes_left_ -= bytes.size();
}

void NpyFile::finish_rows() {
  std::uint64_t row_bytes = size_of(array_.dtype);
  for (std::size_t i = 1; i < array_.shape.size(); ++i) {
    row_bytes *= static_cast<std::uint64_t>(array_.shape[i]);
  }
  array_.shape.front() = static_cast<std::int64_t>((any_bytes - bytes_left_) / row_bytes);
  bytes_left_ = 0;
  if (std::fseek(file_.get(), 0, SEEK_SET) != 0) {
    throw SystemError(text("batchcast: cannot write {}", path_), errno);
  }
  const std::string header = header_of(array_);
  write(header.data(), header.size());
}

void NpyFile::finish() {
  if (array_.has_any_rows) finish_rows();
  if (bytes_left_ != 0) {
    throw Error(text("batchcast: {} was given less than its shape holds.", path_));
  }
  if (std::fclose(file_.release()) != 0) {
    throw SystemError(text("batchcast: cannot write {}", path_), errno);
  }
}

void NpyFile::write(const void* bytes, std::size_t count) {
  if (std::fwrite(bytes, 1, count, file_.get()) != count) {
    throw SystemError(text("batchcast: cannot write {}", path_), errno);
  }
}

}  // namespace batchcast::cli
