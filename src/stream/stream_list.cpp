// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "stream/stream_directory.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/join/door.hpp>

#include <batchcast/join/trust.hpp>
#include "stream/try_stream_lock.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>
#include <tuple>

namespace batchcast::inline v0_1 {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view ray_node_prefix = "ray-";  // as batchcast/_ray.py makes them

bool trusted(const std::string& path, Trust trust) {
  struct stat status;
  return ::lstat(path.c_str(), &status) == 0 && distrust(path, status, trust).empty();
}

Trust trust_of_user() { return {.any_owner = !environment("BATCHCAST_DIR").empty()}; }

/// Throws Error where the user names something that is no directory: no stream can be in it.
void check_named(const std::string& base) {
  struct stat status;
  if (!trust_of_user().any_owner || ::lstat(base.c_str(), &status) != 0) return;
  if (!S_ISDIR(status.st_mode)) throw Error(distrust(base, status, trust_of_user()));
}

/// Of the directory that the user names, those of Ray's nodes below it, by name.
void add_nodes(std::vector<std::string>& bases) {
  if (!trust_of_user().any_owner) return;
  const std::string named = bases.front();
  std::error_code error;
  for (fs::directory_iterator it(named, error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename().string().starts_with(ray_node_prefix)) bases.push_back(it->path());
  }
  std::sort(bases.begin() + 1, bases.end());
}

/// Where to look for streams that are there.
std::vector<std::string> listed_directories() {
  std::vector<std::string> bases = candidate_directories();
  for (const std::string& base : bases) check_named(base);
  add_nodes(bases);
  return bases;
}

// This is for each stream of a list, which may hold many. A slow door can be asked again.
constexpr int connect_timeout_ms = 100;

/// Another user cannot read the lock, but can connect to a live producer's door.
void look_at_door(ListedStream& stream) {
  const DoorAttempt attempt = connect_door(stream.paths.door, connect_timeout_ms);
  stream.served = attempt.answer == DoorAnswer::open || attempt.answer == DoorAnswer::crowded ||
                  attempt.answer == DoorAnswer::denied;
  if (attempt.answer == DoorAnswer::open) {
    stream.pid = peer_identity(attempt.connection, PidfdSource::from_hello).pid;
  }
}

/// Nothing where no stream of that name is, or where its directory cannot be trusted.
std::optional<ListedStream> look_at_stream(const std::string& base, const std::string& name) {
  ListedStream stream{.name = name, .paths = stream_paths(base, name)};
  struct stat directory, lock_file;
  if (::lstat(stream.paths.directory.c_str(), &directory) != 0 ||
      !distrust(stream.paths.directory, directory, trust_of_user()).empty()) {
    return std::nullopt;
  }
  stream.uid = directory.st_uid;
  if (::lstat(stream.paths.lock.c_str(), &lock_file) != 0) {
    stream.served = stream.foreign = errno == EACCES;
    return stream.foreign ? std::optional(std::move(stream)) : std::nullopt;
  }
  if (!S_ISREG(lock_file.st_mode)) return std::nullopt;
  const LockState lock = look_at_lock(stream.paths.lock);
  stream.served = lock.held;
  stream.pid = lock.pid;
  stream.foreign = lock.unreadable;
  try {
    if (lock.unreadable) look_at_door(stream);
  } catch (const Error&) {
    // Another user's socket there is no producer's door; other streams are listed all the same.
  }
  return stream;
}

}  // namespace

std::vector<ListedStream> list_streams() {
  std::vector<ListedStream> result;
  for (const std::string& base : listed_directories()) {
    if (!trusted(base, trust_of_user())) continue;
    std::error_code error;
    for (fs::directory_iterator it(base, error), end; !error && it != end; it.increment(error)) {
      const std::string name = it->path().filename().string();
      if (!is_stream_name(name)) continue;
      if (auto stream = look_at_stream(base, name)) result.push_back(std::move(*stream));
    }
  }
  std::sort(result.begin(), result.end(), [](const ListedStream& a, const ListedStream& b) {
    return std::tie(a.name, a.paths.directory) < std::tie(b.name, b.paths.directory);
  });
  return result;
}

std::vector<ListedStream> list_streams(std::string_view name) {
  check_stream_name(name);
  std::vector<ListedStream> result;
  for (const std::string& base : listed_directories()) {
    if (!trusted(base, trust_of_user())) continue;
    if (auto stream = look_at_stream(base, std::string(name))) result.push_back(std::move(*stream));
  }
  return result;
}

std::optional<StreamPaths> find_failed_stream(std::string_view name) {
  check_stream_name(name);
  for (const std::string& base : listed_directories()) {
    StreamPaths paths = stream_paths(base, name);
    struct stat status;
    if (!trusted(base, trust_of_user()) || !trusted(paths.directory, trust_of_user())) continue;
    if (::lstat(paths.lock.c_str(), &status) == 0) continue;
    if (::lstat(paths.failure.c_str(), &status) == 0) return paths;
  }
  return std::nullopt;
}

std::vector<std::string> unlisted_directories() {
  std::vector<std::string> result;
  for (std::string& base : candidate_directories()) {
    std::error_code error;
    const fs::directory_iterator it(base, error);
    if (error == std::errc::permission_denied) result.push_back(std::move(base));
  }
  return result;
}

}  // namespace batchcast::inline v0_1
