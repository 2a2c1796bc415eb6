// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "stream/stream_directory.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/process_state.hpp>
#include <batchcast/core/try_write.hpp>

#include <batchcast/join/absent_stream.hpp>
#include <batchcast/join/trust.hpp>
#include <batchcast/join/unix_socket.hpp>
#include "stream/last_ends.hpp"
#include "stream/lock_holder.hpp"
#include "stream/place.hpp"
#include "stream/try_stream_lock.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

namespace batchcast::inline v0_1 {
namespace {

namespace fs = std::filesystem;

std::string taken_text(const std::string& stream, const StreamPaths& paths) {
  const std::int32_t pid = look_at_lock(paths.lock).pid;
  const std::string refusal =
      text("batchcast: the stream {} is already served by {} ({}).", stream,
           pid == 0 ? "another process" : text("process {}", pid), paths.directory);
  if (pid != 0 && ::kill(pid, 0) != 0 && errno == ESRCH) {
    return text(
        "{} That process cannot be seen from here: it runs in another container, or is dead and a "
        "child that it forked holds {}; `fuser {}` shows which.",
        refusal, paths.lock, paths.lock);
  }
  return text("{} End that one with `batchcast stop {}`, or choose another name.", refusal, stream);
}

/// No producer has the lock, but a process that looks whether one does, such as `ls` or a trainer.
/// That lasts longer than an instant where the process is stopped.
std::string looked_at_text(const std::string& stream, const StreamPaths& paths, std::int32_t pid) {
  const std::string refusal = text(
      "batchcast: no producer serves the stream {}, but {} looks at {}, and keeps a producer from "
      "locking it.",
      stream, pid == 0 ? "a process that cannot be seen from here" : text("process {}", pid),
      paths.lock);
  if (pid == 0) return text("{} `fuser {}` shows which.", refusal, paths.lock);
  if (!detail::is_stopped(static_cast<std::uint32_t>(pid))) return text("{} Try again.", refusal);
  return text("{} It is stopped: resume it with `kill -CONT {}`, or end it with `kill -KILL {}`.",
              refusal, pid, pid);
}

[[noreturn]] void throw_taken(const std::string& stream, const StreamPaths& paths) {
  if (!look_at_lock(paths.lock).held) {
    if (const auto pid = looker_at_lock(paths.lock)) {
      throw StreamTaken(looked_at_text(stream, paths, *pid));
    }
  }
  throw StreamTaken(taken_text(stream, paths));
}

std::string base_of(const StreamDirectory::Options& options) {
  std::string base = options.base.empty() ? producer_directory(!options.allow_uids.empty())
                                          : fs::absolute(options.base).lexically_normal().string();
  while (base.size() > 1 && base.back() == '/') base.pop_back();
  return base;
}

}  // namespace

StreamPaths StreamDirectory::paths_of(const Options& options) {
  return stream_paths(base_of(options), options.stream);
}

StreamDirectory::StreamDirectory(Options options) : options_(std::move(options)) {
  check_stream_name(options_.stream);
  options_.base = base_of(options_);
  paths_ = stream_paths(options_.base, options_.stream);
  check_socket_path(paths_.control);  // the longest
  owner_pid_ = ::getpid();
  make();
}

StreamDirectory::~StreamDirectory() { leave(); }

void StreamDirectory::leave() noexcept {
  if (::getpid() != owner_pid_) return;
  if (intact()) remove_stream_files(paths_, keep_log_);
  const std::lock_guard lock(mutex_);
  lock_.close();
}

void remove_stream_files(const StreamPaths& paths, bool keep_log) noexcept {
  const FileDescriptor start(
      ::open(paths.start.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  // A process that holds `start` is about to start a producer, and both files belong to it.
  if (start && ::flock(start.get(), LOCK_EX | LOCK_NB) == 0) {
    if (!keep_log) ::unlink(paths.log.c_str());
    ::unlink(paths.start.c_str());
  }
  // The lock goes last: until then no other producer serves from here.
  for (const std::string* path : {&paths.door, &paths.control, &paths.events, &paths.lock}) {
    ::unlink(path->c_str());
  }
  ::rmdir(paths.directory.c_str());
}

void StreamDirectory::note_failure(std::string_view reason) const noexcept {
  leave_note(paths_.failure, reason, 0644);
}

void StreamDirectory::note_end(std::string_view reason) const noexcept {
  try {
    const std::string path = end_path(options_.base, options_.stream);
    // Users that the stream does not admit may be able to enter the base directory.
    if (!leave_note(path, reason, options_.allow_uids.empty() ? 0600 : 0644)) return;
    forget_old_ends(options_.base);
  } catch (const std::exception&) {
    // As where the words could not be written.
  }
}

bool StreamDirectory::leave_note(const std::string& path, std::string_view reason,
                                 unsigned mode) const noexcept {
  if (::getpid() != owner_pid_ || !intact()) return false;
  try {
    const std::string note = failure_note(owner_pid_, reason);
    const FileDescriptor file(
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, mode));
    if (!file) return false;
    if (detail::try_write(file.get(), note)) return true;
    ::unlink(path.c_str());
  } catch (const std::exception&) {
    // Trainers then learn only that no producer serves the stream.
  }
  return false;
}

void StreamDirectory::make() {
  const Trust trust{.owners = options_.allow_uids};
  const bool for_others = !options_.allow_uids.empty();
  // Another producer's exit may remove the directory between any two of these steps.
  for (int tries = 0; tries < 100; ++tries) {
    const FileDescriptor directory =
        open_stream_directory({options_.base, options_.stream, trust, for_others});
    if (!directory) continue;
    if (take_lock(directory.get())) {
      if (for_others) let_others_pass(directory.get(), paths_.directory);
      return;
    }
  }
  throw Error(
      text("batchcast: {} is removed as fast as it is made. Choose another directory with "
           "BATCHCAST_DIR.",
           paths_.directory));
}

bool StreamDirectory::take_lock(int directory) {
  bool vanished = false;
  const std::lock_guard lock(mutex_);
  if (!lock_.hold([&] { return try_stream_lock(directory, paths_.lock, vanished); })) {
    if (!vanished) throw_taken(options_.stream, paths_);
    return false;
  }
  // The last words of an earlier producer.
  ::unlink(paths_.failure.c_str());
  ::unlink(end_path(options_.base, options_.stream).c_str());
  struct stat status;
  const bool known = ::fstat(lock_.get(), &status) == 0;
  identity_ = known ? FileIdentity{status.st_dev, status.st_ino} : FileIdentity{};
  return true;
}

bool StreamDirectory::intact() const noexcept {
  const std::lock_guard lock(mutex_);
  // The descriptor is not asked: in a thread with a private table it is none, or another.
  return lock_.get() >= 0 && identity_ != FileIdentity{} && identity_at(paths_.lock) == identity_;
}

bool StreamDirectory::repair() noexcept {
  if (intact()) return true;
  try {
    make();
  } catch (const std::exception& error) {
    warn_once(text(
        "the directory of the stream {} is gone, and no consumer can join until it is back: {}",
        options_.stream, error.what()));
    return false;
  }
  warned_ = false;
  detail::report(options_.log, LogLevel::warning,
                 text("the directory {} was removed from outside; the producer made it again",
                      paths_.directory));
  return true;
}

void StreamDirectory::warn_once(const std::string& text) noexcept {
  if (!std::exchange(warned_, true)) detail::report(options_.log, LogLevel::warning, text);
}

}  // namespace batchcast::inline v0_1
