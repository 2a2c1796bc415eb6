// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "stream/place.hpp"

#include <batchcast/core/error.hpp>

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

namespace batchcast::inline v0_1 {
namespace {

namespace fs = std::filesystem;

/// Opens a directory without following a link at its end, and checks it. Empty if it is not there.
FileDescriptor open_directory(int at, const char* name, const std::string& path, Trust trust) {
  struct stat status;
  if (::fstatat(at, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return {};
    throw SystemError(text("batchcast: cannot look at {}", path), errno);
  }
  if (std::string wrong = distrust(path, status, trust); !wrong.empty()) throw Error(wrong);
  FileDescriptor directory(::openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory) {
    if (errno == ENOENT) return {};
    throw SystemError(text("batchcast: cannot open {}", path), errno);
  }
  // It is checked once more after opening: the path may have changed hands in between.
  if (::fstat(directory.get(), &status) != 0) {
    throw SystemError(text("batchcast: cannot look at {}", path), errno);
  }
  if (std::string wrong = distrust(path, status, trust); !wrong.empty()) throw Error(wrong);
  return directory;
}

}  // namespace

void let_others_pass(int directory, const std::string& path) {
  struct stat status;
  if (::fstat(directory, &status) == 0 && (status.st_mode & 0011U) == 0011U) return;
  if (::fchmod(directory, (status.st_mode & 0755U) | 0711U) != 0) {
    throw SystemError(
        text("batchcast: other users cannot pass through {}, and its mode cannot be changed", path),
        errno);
  }
}

FileDescriptor open_stream_directory(const StreamPlace& place) {
  const std::string path = place.base + '/' + place.stream;
  std::error_code ignored;
  fs::create_directories(fs::path(place.base).parent_path(), ignored);
  if (::mkdir(place.base.c_str(), 0700) != 0 && errno != EEXIST) {
    throw SystemError(
        text("batchcast: cannot make the directory {}. Set BATCHCAST_DIR to one that you can write",
             place.base),
        errno);
  }
  const FileDescriptor base = open_directory(AT_FDCWD, place.base.c_str(), place.base, place.trust);
  if (!base) return {};
  if (place.for_others) let_others_pass(base.get(), place.base);
  if (::mkdirat(base.get(), place.stream.c_str(), 0700) != 0 && errno != EEXIST) {
    if (errno == ENOENT) return {};
    throw SystemError(text("batchcast: cannot make the directory {}", path), errno);
  }
  return open_directory(base.get(), place.stream.c_str(), path, place.trust);
}

}  // namespace batchcast::inline v0_1
