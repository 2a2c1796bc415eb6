// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "stream/all_users.hpp"

#include <batchcast/core/file_descriptor.hpp>
#include <batchcast/core/printable.hpp>
#include <batchcast/core/text.hpp>
#include <batchcast/join/stream_lock.hpp>

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace batchcast::inline v0_1 {
namespace {

namespace fs = std::filesystem;

struct Place {
  std::uint32_t uid;
  std::string path;
};

std::optional<std::uint32_t> number_in(std::string_view text) noexcept {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  return is_whole && !text.empty() ? std::optional(number) : std::nullopt;
}

/// Calls `found` with the name of each file in a directory, as far as it can be read.
template <class Found>
void for_each_name(const std::string& directory, const Found& found) {
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    found(it->path().filename().string());
  }
}

std::vector<Place> usual_places(const std::string& root) {
  constexpr std::string_view prefix = "batchcast-";
  std::vector<Place> places;
  for_each_name(root + "/run/user", [&](const std::string& name) {
    if (const auto uid = number_in(name)) {
      places.push_back({*uid, text("{}/run/user/{}/batchcast", root, name)});
    }
  });
  for_each_name(root + "/tmp", [&](const std::string& name) {
    if (!name.starts_with(prefix)) return;
    if (const auto uid = number_in(std::string_view(name).substr(prefix.size()))) {
      places.push_back({*uid, text("{}/tmp/{}", root, name)});
    }
  });
  std::erase_if(places, [](const Place& place) { return place.uid == ::geteuid(); });
  return places;
}

/// The directory at `path` of `parent`, if it is that user's and no link.
std::shared_ptr<FileDescriptor> opened(int parent, const std::string& path, std::uint32_t uid) {
  auto directory = std::make_shared<FileDescriptor>(
      ::openat(parent, path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status;
  if (!*directory || ::fstat(directory->get(), &status) != 0 || status.st_uid != uid)
    return nullptr;
  return directory;
}

std::string path_of(const FileDescriptor& descriptor) {
  return text("/proc/self/fd/{}", descriptor.get());
}

std::string user_name(std::uint32_t uid) {
  std::vector<char> room(1 << 14);
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(uid, &entry, room.data(), room.size(), &found) != 0 || found == nullptr) {
    return std::to_string(uid);
  }
  return printable(found->pw_name);
}

bool is_of_kind(int directory, const char* name, std::uint32_t uid, mode_t kind) noexcept {
  struct stat status;
  return ::fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && status.st_uid == uid &&
         (status.st_mode & static_cast<mode_t>(S_IFMT)) == kind;
}

/// The socket itself, if it is that user's: what is put in its place afterwards is not asked.
std::shared_ptr<FileDescriptor> socket_at(int directory, const char* name, std::uint32_t uid) {
  auto socket =
      std::make_shared<FileDescriptor>(::openat(directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat status;
  if (!*socket || ::fstat(socket->get(), &status) != 0) return nullptr;
  return S_ISSOCK(status.st_mode) && status.st_uid == uid ? socket : nullptr;
}

std::optional<ForeignStream> stream_at(const FileDescriptor& base, const Place& place,
                                       const std::string& name, const std::string& owner) {
  auto directory = opened(base.get(), name, place.uid);
  if (!directory || !is_of_kind(directory->get(), "lock", place.uid, S_IFREG)) return std::nullopt;
  ForeignStream stream;
  stream.listed.name = name;
  stream.listed.paths = stream_paths(place.path, name);
  stream.listed.uid = place.uid;
  stream.listed.foreign = true;
  const LockState lock = look_at_lock(path_of(*directory) + "/lock");
  stream.listed.pid = lock.pid;
  stream.owner = owner;
  auto socket = lock.held ? socket_at(directory->get(), "control", place.uid) : nullptr;
  stream.listed.served = socket != nullptr;
  if (socket) stream.control = path_of(*socket);
  stream.held = std::move(socket);
  return stream;
}

}  // namespace

std::vector<ForeignStream> streams_of_other_users(const std::string& root) {
  std::vector<ForeignStream> streams;
  for (const Place& place : usual_places(root)) {
    const auto base = opened(AT_FDCWD, place.path, place.uid);
    if (!base) continue;
    const std::string owner = user_name(place.uid);
    for_each_name(path_of(*base), [&](const std::string& name) {
      if (!is_stream_name(name)) return;
      if (auto stream = stream_at(*base, place, name, owner)) streams.push_back(std::move(*stream));
    });
  }
  return streams;
}

}  // namespace batchcast::inline v0_1
