// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/trace/written_once.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/text.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

namespace batchcast::cli {

WrittenOnce::WrittenOnce(std::string path) : path_(std::move(path)) {
  struct stat there {};
  const bool is_there = ::stat(path_.c_str(), &there) == 0;
  if (is_there && S_ISDIR(there.st_mode)) fail(EISDIR);
  if (!is_there || S_ISREG(there.st_mode)) {
    beside_ = text("{}.{}.part", path_, ::getpid());
    fd_ = ::open(beside_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } else {
    fd_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  }
  if (fd_ < 0) fail(errno);
}

WrittenOnce::~WrittenOnce() {
  if (fd_ < 0) return;
  ::close(fd_);
  if (!beside_.empty()) ::unlink(beside_.c_str());
}

void WrittenOnce::write(std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd_, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(errno);
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  if (!beside_.empty() && std::rename(beside_.c_str(), path_.c_str()) != 0) fail(errno);
  ::close(std::exchange(fd_, -1));
}

void WrittenOnce::fail(int error_number) const {
  throw SystemError(text("batchcast: cannot write {}", path_), error_number);
}

}  // namespace batchcast::cli
