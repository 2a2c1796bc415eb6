// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/source/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <batchcast/core/error.hpp>
#include <batchcast/core/file_descriptor.hpp>

#include <bit>
#include <cerrno>
#include <system_error>
#include <utility>

namespace batchcast::inline v0_1::detail {

static_assert(std::endian::native == std::endian::little, "files are looked at as they are");

namespace {

[[noreturn]] void refuse(const std::string& path, int error) {
  throw BadDataset(
      text("batchcast: {} cannot be read: {}.", path, std::generic_category().message(error)));
}

}  // namespace

MappedFile::MappedFile(std::string path) : path_(std::move(path)) {
  // With O_NONBLOCK a pipe does not make us wait for its other end.
  const FileDescriptor file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!file) refuse(path_, errno);
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0) refuse(path_, errno);
  if (S_ISDIR(status.st_mode))
    throw BadDataset(text("batchcast: {} is a folder where a file is expected.", path_));
  if (!S_ISREG(status.st_mode)) {
    throw BadDataset(text("batchcast: {} is not a regular file.", path_));
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return;
  void* const start = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
  if (start == MAP_FAILED) refuse(path_, errno);
  bytes_ = {static_cast<const std::byte*>(start), size};
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)), bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  if (this != &other) {
    unmap();
    path_ = std::move(other.path_);
    bytes_ = std::exchange(other.bytes_, {});
  }
  return *this;
}

MappedFile::~MappedFile() { unmap(); }

std::string_view MappedFile::name() const noexcept {
  const std::size_t slash = path_.rfind('/');
  return std::string_view(path_).substr(slash == std::string::npos ? 0 : slash + 1);
}

void MappedFile::expect_random_reads() const noexcept {
  if (bytes_.empty()) return;
  ::madvise(const_cast<std::byte*>(bytes_.data()), bytes_.size(), MADV_RANDOM);
}

void MappedFile::unmap() noexcept {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  bytes_ = {};
}

}  // namespace batchcast::inline v0_1::detail
