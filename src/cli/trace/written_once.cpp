// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/trace/written_once.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/text.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <utility>

namespace batchcast::cli {

WrittenOnce::WrittenOnce(std::string path) : path_(std::move(path)) {
  struct stat there {};
  const bool is_there = ::stat(path_.c_str(), &there) == 0;
  if (is_there && S_ISDIR(there.st_mode)) fail(EISDIR);
  if (!is_there || S_ISREG(there.st_mode)) {
    open_beside();
  } else {
    fd_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  }
  if (fd_ < 0) fail(errno);
}

void WrittenOnce::open_beside() {
  beside_ = text("{}.{}.part", path_, ::getpid());
  const std::size_t slash = path_.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path_.substr(0, slash + 1);
  fd_ = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (fd_ >= 0) return;
  fd_ = ::open(beside_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  has_name_ = fd_ >= 0;
}

WrittenOnce::~WrittenOnce() {
  if (fd_ < 0) return;
  ::close(fd_);
  if (has_name_) ::unlink(beside_.c_str());
}

void WrittenOnce::write(std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd_, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(errno);
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  if (!beside_.empty()) take_place();
  ::close(std::exchange(fd_, -1));
}

void WrittenOnce::take_place() {
  if (!has_name_) {
    // A link replaces no file, and a rename does.
    const std::string self = text("/proc/self/fd/{}", fd_);
    if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, beside_.c_str(), AT_SYMLINK_FOLLOW) != 0) {
      fail(errno);
    }
    has_name_ = true;
  }
  if (std::rename(beside_.c_str(), path_.c_str()) != 0) fail(errno);
  has_name_ = false;
}

void WrittenOnce::fail(int error_number) const {
  throw SystemError(text("batchcast: cannot write {}", path_), error_number);
}

}  // namespace batchcast::cli
