// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "life/life_files.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/text.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

namespace batchcast::inline v0_1::detail {
namespace {

constexpr const char* file_name = "life";
constexpr const char* new_file_name = "life.new";
constexpr const char* lock_prefix = "member.";
constexpr std::size_t bytes_max = std::size_t{16} << 20;

std::string path_in(const std::string& directory, const std::string& name) {
  return directory + "/" + name;
}

/// Of the stream's own directory: what is there and no file is of no use to anyone.
void remove_any(const std::string& path) noexcept {
  std::error_code ignored;
  if (::unlink(path.c_str()) != 0 && errno == EISDIR) std::filesystem::remove_all(path, ignored);
}

void write_all(int fd, std::string_view left, const std::string& path) {
  while (!left.empty()) {
    const ssize_t wrote = ::write(fd, left.data(), left.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) throw SystemError(text("batchcast: write {}", path), errno);
    left.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

}  // namespace

std::optional<Life> read_life(const std::string& directory) {
  const std::string path = path_in(directory, file_name);
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  struct stat status;
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  const auto bytes = static_cast<std::size_t>(status.st_size);
  if (bytes > bytes_max) return std::nullopt;
  std::string json(bytes, '\0');
  if (::pread(file.get(), json.data(), bytes, 0) != status.st_size) return std::nullopt;
  return life_from(json);
}

void write_life(const std::string& directory, const Life& life) {
  const std::string path = path_in(directory, new_file_name);
  const std::string place = path_in(directory, file_name);
  // A directory there, or a pipe without a reader, would stop the producer.
  struct stat there;
  if (::lstat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode)) remove_any(path);
  const FileDescriptor file(::open(
      path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600));
  if (!file) throw SystemError(text("batchcast: write {}", path), errno);
  write_all(file.get(), to_json(life), path);
  if (::rename(path.c_str(), place.c_str()) == 0) return;
  if (errno == EISDIR) remove_any(place);
  if (::rename(path.c_str(), place.c_str()) == 0) return;
  throw SystemError(text("batchcast: write {}", place), errno);
}

void remove_lives(const std::string& directory) noexcept {
  try {
    remove_any(path_in(directory, file_name));
    remove_any(path_in(directory, new_file_name));
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(directory, ignored)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with(lock_prefix)) remove_any(entry.path().string());
    }
  } catch (const std::exception&) {
    // What stays is of no use to any producer, and of no harm.
  }
}

FileDescriptor make_member_lock(const std::string& directory, const std::string& name) {
  const std::string path = path_in(directory, lock_prefix + name);
  FileDescriptor file(
      ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) throw SystemError(text("batchcast: open {}", path), errno);
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    throw SystemError(text("batchcast: flock {}", path), errno);
  }
  return file;
}

bool is_member_alive(const std::string& directory, const std::string& name) noexcept {
  try {
    const std::string path = path_in(directory, lock_prefix + name);
    const FileDescriptor file(::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    // Without a descriptor it is not known either.
    if (!file) return errno == EMFILE || errno == ENFILE || errno == ENOMEM;
    return ::flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  } catch (const std::exception&) {
    return true;  // not known: its place is kept
  }
}

void remove_member_lock(const std::string& directory, const std::string& name) noexcept {
  try {
    ::unlink(path_in(directory, lock_prefix + name).c_str());
  } catch (const std::exception&) {
    // The next producer removes it.
  }
}

}  // namespace batchcast::inline v0_1::detail
