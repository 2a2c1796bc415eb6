// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "start/start_lock.hpp"

#include "join/bound_socket.hpp"
#include "stream/place.hpp"

#include <batchcast/core/error.hpp>

#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <utility>

// The file has a number that every failure raises, with a fixed number of digits and a line feed.
// The last failure follows as JSON.
namespace batchcast::inline v0_1::detail {
namespace {

using Json = nlohmann::json;

constexpr std::size_t digits = 20;
constexpr std::size_t head_bytes = digits + 1;
constexpr std::size_t failure_bytes_max = std::size_t{1} << 16;
constexpr int directory_tries = 100;

bool write_all(int fd, std::string_view text, off_t at) noexcept {
  while (!text.empty()) {
    const ssize_t bytes = ::pwrite(fd, text.data(), text.size(), at);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(bytes));
    at += bytes;
  }
  return true;
}

}  // namespace

StartLock::StartLock(std::string base, std::string stream)
    : base_(std::move(base)), stream_(std::move(stream)), paths_(stream_paths(base_, stream_)) {}

StartLock::~StartLock() {
  // It is unlocked explicitly: a child forked meanwhile has the file open as well.
  if (held_by_ == ::getpid()) ::flock(file_.get(), LOCK_UN);
}

void StartLock::queue() {
  // A producer's exit may remove the directory between any two of these steps.
  for (int tries = 0; tries < directory_tries; ++tries) {
    directory_ = open_stream_directory({base_, stream_});
    if (!directory_) continue;
    file_ = FileDescriptor(::openat(directory_.get(), "start",
                                    O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
    if (!file_ && errno == ENOENT) continue;
    if (!file_) throw SystemError(text("batchcast: cannot open {}", paths_.start), errno);
    struct stat status;
    if (::fstat(file_.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
      throw Error(text("batchcast: {} is not a regular file. Remove it.", paths_.start));
    }
    queued_at_ = generation();
    return;
  }
  throw Error(
      text("batchcast: {} is removed as fast as it is made. Choose another directory with "
           "BATCHCAST_DIR.",
           paths_.directory));
}

bool StartLock::try_take() {
  for (;;) {
    if (!file_) queue();
    const bool free = ::flock(file_.get(), LOCK_EX | LOCK_NB) == 0;
    const int error = errno;
    struct stat status;
    const bool still_there =
        ::fstat(file_.get(), &status) == 0 &&
        identity_at(paths_.start) == FileIdentity{status.st_dev, status.st_ino};
    if (free && still_there) {
      held_by_ = ::getpid();
      return true;
    }
    // The stream's producer may have removed the file as it ended. Later callers wait for another.
    if (free) ::flock(file_.get(), LOCK_UN);
    if (!still_there) {
      file_.reset();
      continue;
    }
    if (error != EWOULDBLOCK && error != EINTR) {
      throw SystemError(text("batchcast: cannot lock {}", paths_.start), error);
    }
    return false;
  }
}

std::uint64_t StartLock::generation() const noexcept {
  std::array<char, digits> text{};
  std::uint64_t number = 0;
  const ssize_t bytes = ::pread(file_.get(), text.data(), text.size(), 0);
  if (bytes > 0) std::from_chars(text.data(), text.data() + bytes, number);
  return number;
}

std::optional<FailedStart> StartLock::failed_meanwhile() const {
  if (generation() == queued_at_) return std::nullopt;
  std::string text(failure_bytes_max, '\0');
  const ssize_t bytes = ::pread(file_.get(), text.data(), text.size(), head_bytes);
  if (bytes <= 0) return std::nullopt;
  text.resize(static_cast<std::size_t>(bytes));
  const Json json = Json::parse(text, nullptr, false);
  FailedStart failure;
  try {
    failure.words = json.at("words").get<std::vector<std::string>>();
    failure.text = json.at("text").get<std::string>();
  } catch (const Json::exception&) {
    return std::nullopt;  // the process that wrote it was killed before it was done
  }
  return failure;
}

void StartLock::tell_failure(const FailedStart& failure) noexcept {
  try {
    const std::string text = Json{{"words", failure.words}, {"text", failure.text}}.dump(
        -1, ' ', false, Json::error_handler_t::replace);
    if (text.size() > failure_bytes_max) return;  // each caller then meets the failure itself
    std::array<char, head_bytes + 1> head{};
    std::snprintf(head.data(), head.size(), "%020llu\n",
                  static_cast<unsigned long long>(generation() + 1));
    // The number goes last: it says that the rest is whole.
    if (::ftruncate(file_.get(), head_bytes) != 0) return;
    if (!write_all(file_.get(), text, head_bytes)) return;
    static_cast<void>(write_all(file_.get(), {head.data(), head_bytes}, 0));
  } catch (const std::exception&) {
    // Each caller meets the failure itself, here as well.
  }
}

FileDescriptor StartLock::make_log() const {
  if (::unlinkat(directory_.get(), "serve.log", 0) != 0 && errno != ENOENT) {
    throw SystemError(text("batchcast: cannot replace {}", paths_.log), errno);
  }
  FileDescriptor log(::openat(directory_.get(), "serve.log",
                              O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                              0600));
  if (!log) throw SystemError(text("batchcast: cannot make {}", paths_.log), errno);
  while (::flock(log.get(), LOCK_EX) != 0) {
    if (errno != EINTR) throw SystemError(text("batchcast: cannot lock {}", paths_.log), errno);
  }
  return log;
}

}  // namespace batchcast::inline v0_1::detail
