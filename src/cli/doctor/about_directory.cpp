// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/join/trust.hpp>
#include <batchcast/join/unix_socket.hpp>
#include "cli/doctor/doctor.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/file_descriptor.hpp>
#include <batchcast/core/limits.hpp>
#include "stream/stream_directory.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

// Where streams are found: a directory with a lock and sockets for each. Nothing is left behind.
namespace batchcast::cli {
namespace {

namespace fs = std::filesystem;

struct Place {
  std::string path;
  std::string existing;  ///< itself, or what it would be made in
  std::string wrong;     ///< why it cannot be used
};

bool can_write(const std::string& path) { return ::access(path.c_str(), W_OK | X_OK) == 0; }

/// The directory in which that one would be made; empty if that cannot be.
std::string parent_to_be(const std::string& path, bool named) {
  std::string parent = fs::path(path).parent_path().string();
  while (named && parent.size() > 1 && ::access(parent.c_str(), F_OK) != 0) {
    parent = fs::path(parent).parent_path().string();
  }
  return can_write(parent) ? parent : std::string();
}

/// What a producer would take, without making it.
std::optional<Place> find_place() {
  const bool named = !environment("BATCHCAST_DIR").empty();
  for (const std::string& path : candidate_directories()) {
    struct stat about {};
    if (::lstat(path.c_str(), &about) == 0) {
      Place place{path, path, distrust(path, about, {.any_owner = named})};
      if (place.wrong.empty() && !can_write(path)) {
        place.wrong = text("{} cannot be written to", path);
      }
      return place;
    }
    std::string parent = parent_to_be(path, named);
    if (!parent.empty()) return Place{path, std::move(parent), {}};
  }
  return std::nullopt;
}

/// File systems of other machines, and some that containers share, have no sockets or no locks.
std::string use_fails(const std::string& directory) {
  std::string folder = directory + "/.batchcast-doctor-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) return text("mkdtemp: {}", std::strerror(errno));
  const std::string lock = folder + "/lock", door = folder + "/d";
  std::string failure;
  {
    const FileDescriptor file(::open(lock.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
    if (!file || ::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
      failure = text("flock: {}", std::strerror(errno));
    }
  }
  const FileDescriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (failure.empty() && door.size() <= limits::socket_path_bytes_max) {
    const sockaddr_un address = socket_address(door);
    if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      failure = text("bind: {}", std::strerror(errno));
    }
  }
  ::unlink(door.c_str());
  ::unlink(lock.c_str());
  ::rmdir(folder.c_str());
  return failure;
}

void examine_names(Findings& findings, const std::string& base) {
  const std::size_t besides = stream_paths(base, "").control.size();
  const std::size_t left =
      limits::socket_path_bytes_max > besides ? limits::socket_path_bytes_max - besides : 0;
  const std::size_t longest = std::min(left, limits::stream_name_bytes_max);
  Finding finding;
  finding.subject = "stream names";
  finding.value = fmt::format("up to {} characters", longest);
  finding.meaning = "Every name that a stream may have fits into the paths of its sockets.";
  if (longest < limits::stream_name_bytes_max) {
    finding.mark = longest == 0 ? Mark::problem : Mark::note;
    finding.stops_streams = longest == 0;
    finding.meaning = fmt::format(
        "The directory's path is long, and a socket's may take {} bytes: {} refused; BATCHCAST_DIR "
        "may name a shorter one.",
        limits::socket_path_bytes_max, longest == 0 ? "every stream is" : "longer names are");
  }
  findings.add(finding);
}

std::string mode_text(const Place& place) {
  struct stat about {};
  if (place.existing != place.path || ::stat(place.path.c_str(), &about) != 0) {
    return "not made yet";
  }
  return fmt::format("mode {:04o}", about.st_mode & 07777U);
}

}  // namespace

void examine_directory(Findings& findings) {
  Finding finding;
  finding.subject = "runtime directory";
  const std::optional<Place> place = find_place();
  if (place) {
    finding.value = fmt::format("{} ({})", place->path, mode_text(*place));
    finding.meaning =
        "Producers put their streams' sockets here and trainers look for them here: containers "
        "that share streams must share this directory.";
    std::string wrong = place->wrong;
    if (wrong.empty()) wrong = use_fails(place->existing);
    if (!wrong.empty()) {
      finding.mark = Mark::problem;
      finding.stops_streams = true;
      finding.meaning =
          text("No stream can be served here: {}{}", wrong,
               wrong.back() == '.' ? "" : ". Set BATCHCAST_DIR to a directory of yours.");
    }
  } else {
    finding.mark = Mark::problem;
    finding.stops_streams = true;
    finding.value = "none";
    finding.meaning = "None of these can be made or written:";
    for (const std::string& path : candidate_directories()) finding.meaning += text(" {}", path);
    finding.meaning += ". Set BATCHCAST_DIR to a directory of yours.";
  }
  findings.add(finding);
  if (place) examine_names(findings, place->path);
}

}  // namespace batchcast::cli
