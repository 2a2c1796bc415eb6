// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include <batchcast/control/directory.hpp>

#include <batchcast/core/error.hpp>

#include "control/report.hpp"
#include "control/stream_lock.hpp"
#include "control/trust.hpp"
#include "control/unix_socket.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

namespace batchcast {
namespace {

namespace fs = std::filesystem;

/// Opens a directory without following a link at its end, and checks it. Empty if it is not there.
FileDescriptor open_directory(int at, const char* name, const std::string& path, Trust trust) {
  struct stat status;
  if (::fstatat(at, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return {};
    throw SystemError("batchcast: cannot look at " + path, errno);
  }
  if (std::string wrong = distrust(path, status, trust); !wrong.empty()) throw Error(wrong);
  FileDescriptor directory(::openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory) {
    if (errno == ENOENT) return {};
    throw SystemError("batchcast: cannot open " + path, errno);
  }
  // Once more, of what was opened: the path may have changed hands in between.
  if (::fstat(directory.get(), &status) != 0) {
    throw SystemError("batchcast: cannot look at " + path, errno);
  }
  if (std::string wrong = distrust(path, status, trust); !wrong.empty()) throw Error(wrong);
  return directory;
}

/// Other users must be able to pass through, and cannot list what is there.
void let_others_pass(int directory, const std::string& path) {
  struct stat status;
  if (::fstat(directory, &status) == 0 && (status.st_mode & 0011U) == 0011U) return;
  if (::fchmod(directory, (status.st_mode & 0755U) | 0711U) != 0) {
    throw SystemError(
        "batchcast: other users cannot pass through " + path + ", and its mode cannot be changed",
        errno);
  }
}

std::string taken_text(const std::string& stream, const StreamPaths& paths) {
  const std::int32_t pid = look_at_lock(paths.lock).pid;
  std::string text = "batchcast: the stream " + stream + " is already served by ";
  text += pid == 0 ? std::string("another process") : "process " + std::to_string(pid);
  text += " (" + paths.directory + ").";
  if (pid != 0 && ::kill(pid, 0) != 0 && errno == ESRCH) {
    return text +
           " That process cannot be seen from here: it runs in another container, or is dead "
           "and a child that it forked holds " +
           paths.lock + "; `fuser " + paths.lock + "` shows which.";
  }
  return text + " End that one with `batchcast stop " + stream + "`, or choose another name.";
}

}  // namespace

StreamDirectory::StreamDirectory(Options options) : options_(std::move(options)) {
  check_stream_name(options_.stream);
  options_.base = options_.base.empty() ? producer_directory(!options_.allow_uids.empty())
                                        : fs::absolute(options_.base).lexically_normal().string();
  while (options_.base.size() > 1 && options_.base.back() == '/') options_.base.pop_back();
  paths_ = stream_paths(options_.base, options_.stream);
  check_socket_path(paths_.control);  // the longest
  owner_pid_ = ::getpid();
  make();
}

StreamDirectory::~StreamDirectory() {
  if (::getpid() != owner_pid_ || !intact()) return;
  ::unlink(paths_.door.c_str());
  ::unlink(paths_.control.c_str());
  ::unlink(paths_.events.c_str());
  ::unlink(paths_.lock.c_str());
  ::rmdir(paths_.directory.c_str());
}

void StreamDirectory::make() {
  const Trust trust{.owners = options_.allow_uids};
  const bool for_others = !options_.allow_uids.empty();
  // Another producer's exit may remove the directory between any two of these steps.
  for (int tries = 0; tries < 100; ++tries) {
    std::error_code error;
    fs::create_directories(fs::path(options_.base).parent_path(), error);
    if (::mkdir(options_.base.c_str(), 0700) != 0 && errno != EEXIST) {
      throw SystemError("batchcast: cannot make the directory " + options_.base +
                            ". Set BATCHCAST_DIR to one that you can write",
                        errno);
    }
    const FileDescriptor base =
        open_directory(AT_FDCWD, options_.base.c_str(), options_.base, trust);
    if (!base) continue;
    if (for_others) let_others_pass(base.get(), options_.base);
    if (::mkdirat(base.get(), options_.stream.c_str(), 0700) != 0 && errno != EEXIST) {
      throw SystemError("batchcast: cannot make the directory " + paths_.directory, errno);
    }
    const FileDescriptor directory =
        open_directory(base.get(), options_.stream.c_str(), paths_.directory, trust);
    if (!directory) continue;
    if (take_lock(directory.get())) {
      if (for_others) let_others_pass(directory.get(), paths_.directory);
      return;
    }
  }
  throw Error("batchcast: " + paths_.directory +
              " is removed as fast as it is made. Choose another directory with BATCHCAST_DIR.");
}

bool StreamDirectory::take_lock(int directory) {
  bool vanished = false;
  FileDescriptor lock = try_lock(directory, paths_.lock, vanished);
  if (!lock && !vanished) throw StreamTaken(taken_text(options_.stream, paths_));
  if (!lock) return false;
  lock_ = std::move(lock);
  return true;
}

bool StreamDirectory::intact() const noexcept {
  struct stat status;
  if (::fstat(lock_.get(), &status) != 0) return false;
  return identity_at(paths_.lock) == FileIdentity{status.st_dev, status.st_ino};
}

bool StreamDirectory::repair() noexcept {
  if (intact()) return true;
  try {
    make();
  } catch (const std::exception& error) {
    warn_once("the directory of the stream " + options_.stream +
              " is gone, and nobody can join until it is back: " + error.what());
    return false;
  }
  warned_ = false;
  report(options_.log, LogLevel::warning,
         "the directory " + paths_.directory + " was removed by somebody; made it again");
  return true;
}

void StreamDirectory::warn_once(const std::string& text) noexcept {
  if (!std::exchange(warned_, true)) report(options_.log, LogLevel::warning, text);
}

}  // namespace batchcast
