// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "stream/try_stream_lock.hpp"

#include <batchcast/core/error.hpp>

#include "join/bound_socket.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace batchcast::inline v0_1 {
namespace {

bool still_at(int lock, const std::string& path) noexcept {
  struct stat status;
  if (::fstat(lock, &status) != 0) return false;
  return identity_at(path) == FileIdentity{status.st_dev, status.st_ino};
}

/// Whether a producer has the lock, rather than processes that only look at it.
bool is_producers(int lock) noexcept {
  if (::flock(lock, LOCK_SH | LOCK_NB) != 0) return true;
  ::flock(lock, LOCK_UN);
  return false;
}

}  // namespace

FileDescriptor try_stream_lock(int directory, const std::string& path, bool& vanished) {
  vanished = false;
  FileDescriptor lock(
      ::openat(directory, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
  if (!lock) {
    vanished = errno == ENOENT;
    if (vanished) return {};
    throw SystemError(text("batchcast: cannot open {}. If another user's producer left it there, "
                           "remove its directory",
                           path),
                      errno);
  }
  struct stat status;
  if (::fstat(lock.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    throw Error(text("batchcast: {} is not a regular file. Remove it.", path));
  }
  // `look_at_lock` in another process shares the lock for an instant. That may last until the
  // process gets a processor again, and must not stop a producer.
  constexpr int tries_max = 20;
  constexpr int tries_beside_lookers_max = 2'500;
  for (int tries = 0; ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0; ++tries) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      throw SystemError(text("batchcast: cannot lock {}", path), errno);
    }
    if (tries >= tries_max && (tries == tries_beside_lookers_max || is_producers(lock.get()))) {
      return {};
    }
    ::usleep(2'000);
  }
  // The producer that held it may have removed it on its way out.
  if (!still_at(lock.get(), path)) {
    vanished = true;
    return {};
  }
  const std::string pid = text("{}\n", ::getpid());
  if (::ftruncate(lock.get(), 0) != 0 ||
      ::pwrite(lock.get(), pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    throw SystemError(text("batchcast: cannot write {}", path), errno);
  }
  return lock;
}

}  // namespace batchcast::inline v0_1
