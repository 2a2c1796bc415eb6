// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "stream/all_users.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "catch.hpp"
#include "temporary_folder.hpp"

using namespace batchcast;
namespace fs = std::filesystem;

namespace {

constexpr uid_t other = 54'321;

/// A place of streams as another user has it. Only root can make one.
struct Place {
  testing::TemporaryFolder folder;

  void make(const std::string& path, uid_t owner = other) const {
    fs::create_directories(folder.path() + path);
    REQUIRE(::chown((folder.path() + path).c_str(), owner, owner) == 0);
  }
  void make_file(const std::string& path, uid_t owner = other) const {
    std::ofstream(folder.path() + path) << "77";
    REQUIRE(::chown((folder.path() + path).c_str(), owner, owner) == 0);
  }
  void make_socket(const std::string& path) const {
    const fs::path before = fs::current_path();
    const fs::path full = folder.path() + path;
    fs::current_path(full.parent_path());  // its own path may be too long for a socket
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, full.filename().c_str(), sizeof address.sun_path - 1);
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    REQUIRE(::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    ::close(fd);
    fs::current_path(before);
    REQUIRE(::chown(full.c_str(), other, other) == 0);
  }
};

std::string names_of(const std::vector<ForeignStream>& streams) {
  std::vector<std::string> names;
  for (const ForeignStream& one : streams) names.push_back(one.listed.name);
  std::sort(names.begin(), names.end());
  std::string all;
  for (const std::string& name : names) all += name + " ";
  return all;
}

}  // namespace

TEST_CASE("root sees other users' streams where they have theirs, and follows no link") {
  if (::geteuid() != 0) return;  // none but root makes files of others
  const Place place;
  place.make("/run/user/54321/batchcast");
  place.make("/run/user/54321/batchcast/good");
  place.make_file("/run/user/54321/batchcast/good/lock");
  place.make_socket("/run/user/54321/batchcast/good/control");
  place.make("/tmp/batchcast-54321");
  place.make("/tmp/batchcast-54321/also");
  place.make_file("/tmp/batchcast-54321/also/lock");
  // Whose directory it is counts, not what the path says.
  place.make("/tmp/batchcast-54322");
  place.make("/tmp/batchcast-54322/stolen");
  place.make_file("/tmp/batchcast-54322/stolen/lock");
  place.make("/tmp/batchcast-54321/roots", 0);
  place.make_file("/tmp/batchcast-54321/roots/lock", 0);
  // Links lead nowhere.
  fs::create_directory_symlink(place.folder.path() + "/tmp/batchcast-54321/also",
                               place.folder.path() + "/tmp/batchcast-54321/link");
  place.make("/tmp/batchcast-54321/linked-lock");
  fs::create_symlink("/etc/passwd", place.folder.path() + "/tmp/batchcast-54321/linked-lock/lock");
  fs::create_directory_symlink(place.folder.path() + "/tmp/batchcast-54321",
                               place.folder.path() + "/tmp/batchcast-54323");
  // Names that no stream has.
  place.make("/tmp/batchcast-54321/-bad");
  place.make_file("/tmp/batchcast-54321/-bad/lock");
  place.make("/tmp/batchcast-x1");

  const std::string lock_path = place.folder.path() + "/run/user/54321/batchcast/good/lock";
  const int lock = ::open(lock_path.c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE(::flock(lock, LOCK_EX) == 0);
  const auto streams = streams_of_other_users(place.folder.path());
  CHECK(names_of(streams) == "also good ");
  for (const ForeignStream& one : streams) {
    CHECK(one.listed.uid == other);
    CHECK(one.owner == "54321");
    CHECK(one.listed.served == (one.listed.name == "good"));
    if (one.listed.served) CHECK(one.listed.pid == 77);
    struct stat status;
    CHECK((::stat(one.control.c_str(), &status) == 0) == one.listed.served);
  }
  ::close(lock);
}

TEST_CASE("places that are not there hold no streams") {
  CHECK(streams_of_other_users("/nowhere").empty());
}
