// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "stream/lock.hpp"

#include <batchcast/core/error.hpp>

#include <batchcast/join/unix_socket.hpp>

#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <utility>

namespace batchcast::inline v0_1 {
namespace {

bool still_at(int lock, const std::string& path) noexcept {
  struct stat status;
  if (::fstat(lock, &status) != 0) return false;
  return identity_at(path) == FileIdentity{status.st_dev, status.st_ino};
}

FileDescriptor try_lock(int directory, const std::string& path, bool& vanished) {
  vanished = false;
  FileDescriptor lock(
      ::openat(directory, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
  if (!lock) {
    vanished = errno == ENOENT;
    if (vanished) return {};
    throw SystemError("batchcast: cannot open " + path +
                          ". If another user's producer left it there, remove its directory",
                      errno);
  }
  struct stat status;
  if (::fstat(lock.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    throw Error("batchcast: " + path + " is not a regular file. Remove it.");
  }
  // `look_at_lock` in another process holds the lock for an instant: that must not stop a producer.
  for (int tries = 0; ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0; ++tries) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      throw SystemError("batchcast: cannot lock " + path, errno);
    }
    if (tries == 20) return {};
    ::usleep(2'000);
  }
  // The producer that held it may have removed it on its way out.
  if (!still_at(lock.get(), path)) {
    vanished = true;
    return {};
  }
  const std::string pid = std::to_string(::getpid()) + '\n';
  if (::ftruncate(lock.get(), 0) != 0 ||
      ::pwrite(lock.get(), pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    throw SystemError("batchcast: cannot write " + path, errno);
  }
  return lock;
}

// Held while a lock comes or goes, and during fork(): a child gets no descriptor that it does not
// know of.
constinit std::mutex mutex;
constinit StreamLock* first = nullptr;

}  // namespace

StreamLock::StreamLock() {
  static const int failure = ::pthread_atfork([] { mutex.lock(); }, [] { mutex.unlock(); },
                                              [] {
                                                close_in_child();
                                                mutex.unlock();
                                              });
  if (failure != 0) throw SystemError("batchcast: pthread_atfork", failure);
  const std::lock_guard lock(mutex);
  next_ = std::exchange(first, this);
}

StreamLock::~StreamLock() {
  const std::lock_guard lock(mutex);
  StreamLock** at = &first;
  while (*at != this) at = &(*at)->next_;
  *at = next_;
  file_.reset();
}

bool StreamLock::take(int directory, const std::string& path, bool& vanished) {
  const std::lock_guard lock(mutex);
  FileDescriptor file = try_lock(directory, path, vanished);
  if (!file) return false;
  file_ = std::move(file);
  return true;
}

void StreamLock::close_in_child() noexcept {
  for (StreamLock* lock = first; lock != nullptr; lock = lock->next_) lock->file_.reset();
}

}  // namespace batchcast::inline v0_1
