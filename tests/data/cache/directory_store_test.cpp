// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/cache/directory_store.hpp"
#include "data/codec/jpeg/kept_form.hpp"
#include "temporary_folder.hpp"

#include "catch.hpp"

#include <batchcast/core/error.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <string>
#include <vector>

using namespace batchcast;
using namespace batchcast::detail;
using batchcast::testing::TemporaryFolder;
using Catch::Contains;

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t budget = std::uint64_t{256} << 20;

Fingerprint key_of(std::uint64_t number) { return fingerprint_of("key " + std::to_string(number)); }

/// An entry that says which it is in every byte.
std::vector<std::byte> entry_of(std::uint64_t number) {
  std::mt19937_64 random(number);
  std::vector<std::byte> entry(1000 + random() % 60000);
  for (std::byte& byte : entry) byte = static_cast<std::byte>(random());
  return entry;
}

Kept add(DirectoryStore& store, std::uint64_t number) {
  return store.add(key_of(number), entry_of(number));
}

/// Whether that entry is found; what is found must be right.
bool has(DirectoryStore& store, std::uint64_t number) {
  SampleParts parts;
  parts.resize(1);
  if (!store.find(key_of(number), 0, parts)) return false;
  REQUIRE(parts.is_kept(0));
  const std::vector<std::byte> expected = entry_of(number);
  const bool same = std::equal(parts[0].begin(), parts[0].end(), expected.begin(), expected.end());
  REQUIRE(same);
  return true;
}

std::vector<fs::path> segments_in(const std::string& folder) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".segment") found.push_back(entry.path());
  }
  return found;
}

std::uint64_t bytes_in_segments(const std::string& folder) {
  std::uint64_t sum = 0;
  for (const fs::path& path : segments_in(folder)) sum += fs::file_size(path);
  return sum;
}

void flip(const fs::path& path, std::uint64_t at) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(at));
  const int byte = file.get();
  file.seekp(static_cast<std::streamoff>(at));
  file.put(static_cast<char>(byte ^ 0x10));
}

}  // namespace

TEST_CASE("Cache directory: entries come back, and survive the process's store") {
  const TemporaryFolder folder;
  const std::string path = folder.path("cache");
  {
    DirectoryStore store(path, budget);
    CHECK_FALSE(has(store, 0));
    for (std::uint64_t i = 0; i < 50; ++i) CHECK(add(store, i) == Kept::added);
    CHECK(add(store, 7) == Kept::present);
    for (std::uint64_t i = 0; i < 50; ++i) CHECK(has(store, i));
    CHECK(store.totals().entries == 50);
  }
  struct stat status = {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777U) == 0700U);
  // What was taken ahead is given back.
  DirectoryStore again(path, budget);
  CHECK(bytes_in_segments(path) < 50 * 62000);
  CHECK(again.totals().entries == 50);
  for (std::uint64_t i = 0; i < 50; ++i) CHECK(has(again, i));
}

TEST_CASE("Cache directory: stores see what others add") {
  const TemporaryFolder folder;
  DirectoryStore one(folder.path("cache"), budget);
  DirectoryStore other(folder.path("cache"), budget);
  CHECK(add(one, 1) == Kept::added);
  other.refresh();
  CHECK(has(other, 1));
  CHECK(add(other, 2) == Kept::added);
  CHECK(add(one, 3) == Kept::added);
  one.refresh();
  other.refresh();
  for (std::uint64_t i = 1; i <= 3; ++i) {
    CHECK(has(one, i));
    CHECK(has(other, i));
  }
  // Duplicates are tolerated.
  DirectoryStore third(folder.path("cache"), budget);
  CHECK(add(third, 1) == Kept::present);
  CHECK(segments_in(folder.path("cache")).size() == 2);
}

TEST_CASE("Cache directory: a damaged byte is seen, and costs that entry alone") {
  const TemporaryFolder folder;
  const std::string path = folder.path("cache");
  constexpr std::uint64_t count = 40;
  {
    DirectoryStore store(path, budget);
    for (std::uint64_t i = 0; i < count; ++i) CHECK(add(store, i) == Kept::added);
  }
  const fs::path segment = segments_in(path).at(0);
  std::mt19937_64 random(std::random_device{}());
  const std::uint64_t at = segment_head_bytes + random() % (fs::file_size(segment) - 128);
  CAPTURE(at);
  flip(segment, at);
  DirectoryStore store(path, budget);
  std::uint64_t found = 0;
  std::uint64_t lost = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (has(store, i)) {
      ++found;
    } else {
      lost = i;
    }
  }
  // A byte between two records is no one's.
  CHECK(found >= count - 1);
  if (found == count) return;
  CHECK(add(store, lost) == Kept::added);
  CHECK(has(store, lost));
  DirectoryStore again(path, budget);
  CHECK(has(again, lost));
}

TEST_CASE("Cache directory: an index that is missing, damaged or old costs time alone") {
  const TemporaryFolder folder;
  const std::string path = folder.path("cache");
  {
    DirectoryStore store(path, budget);
    for (std::uint64_t i = 0; i < 20; ++i) CHECK(add(store, i) == Kept::added);
  }
  const std::string index = segments_in(path).at(0).string() + ".index";
  REQUIRE(fs::exists(index));
  const auto opened = [&] {
    DirectoryStore store(path, budget);
    CHECK(store.totals().entries == 20);
    for (std::uint64_t i = 0; i < 20; ++i) CHECK(has(store, i));
    CHECK(store.totals().damaged == 0);
  };
  opened();
  flip(index, 70);
  opened();
  flip(index, 40);
  opened();
  fs::resize_file(index, 100);
  opened();
  fs::remove(index);
  opened();
  CHECK(fs::exists(index));
}

TEST_CASE("Cache directory: a torn tail is cut off, and other files are left alone") {
  const TemporaryFolder folder;
  const std::string path = folder.path("cache");
  {
    DirectoryStore store(path, budget);
    for (std::uint64_t i = 0; i < 10; ++i) CHECK(add(store, i) == Kept::added);
  }
  const fs::path segment = segments_in(path).at(0);
  const std::uint64_t whole = fs::file_size(segment);
  {
    std::ofstream tail(segment, std::ios::app | std::ios::binary);
    const std::vector<std::byte> torn = entry_of(77);
    tail.write(reinterpret_cast<const char*>(torn.data()),
               static_cast<std::streamsize>(torn.size()));
  }
  folder.write("cache/0000.segment", "");
  folder.write("cache/1111.segment", std::string(500, 'x'));
  folder.write("cache/notes.txt", "mine");
  DirectoryStore store(path, budget);
  CHECK(fs::file_size(segment) == whole);
  for (std::uint64_t i = 0; i < 10; ++i) CHECK(has(store, i));
  CHECK_FALSE(fs::exists(path + "/0000.segment"));
  CHECK(fs::exists(path + "/1111.segment"));
  CHECK(fs::exists(path + "/notes.txt"));
}

TEST_CASE("Cache directory: the budget holds for all processes together") {
  const TemporaryFolder folder;
  const std::string path = folder.path("cache");
  constexpr std::uint64_t small = std::uint64_t{3} << 20;
  {
    DirectoryStore one(path, small);
    DirectoryStore other(path, small);
    std::uint64_t added = 0;
    for (std::uint64_t i = 0; i < 400; ++i) {
      added += add(i % 2 == 0 ? one : other, i) == Kept::added ? 1 : 0;
      CHECK(bytes_in_segments(path) <= small);
    }
    CHECK(added > 20);
    CHECK(added < 150);
    CHECK_THAT(one.full() + other.full(), Contains("3.0 MiB"));
    CHECK(one.add(key_of(1000), entry_of(1000)) == Kept::no_room);
  }
  CHECK(bytes_in_segments(path) <= small);
  DirectoryStore more(path, 2 * small);
  CHECK(add(more, 2000) == Kept::added);
}

TEST_CASE("Cache directory: a directory that others may enter is refused") {
  const TemporaryFolder folder;
  const std::string path = folder.make_folder("open");
  REQUIRE(::chmod(path.c_str(), 0755) == 0);
  CHECK_THROWS_WITH(DirectoryStore(path, budget), Contains("chmod 700"));
  folder.write("file", "no directory");
  CHECK_THROWS_AS(DirectoryStore(folder.path("file"), budget), SystemError);
  CHECK_THROWS_AS(DirectoryStore(folder.path("a/b/c"), budget), SystemError);
}

TEST_CASE("Cache directory: a process that is killed at any moment leaves whole entries") {
  const TemporaryFolder folder;
  const std::string path = folder.path("cache");
  std::mt19937_64 random(std::random_device{}());
  std::uint64_t begin = 0;
  std::uint64_t found = 0;
  for (int turn = 0; turn < 12; ++turn) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      try {
        DirectoryStore store(path, budget);
        for (std::uint64_t i = begin;; ++i) static_cast<void>(add(store, i));
      } catch (...) {
      }
      ::_exit(1);
    }
    ::usleep(static_cast<useconds_t>(1000 + random() % 60000));
    REQUIRE(::kill(child, SIGKILL) == 0);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));
    DirectoryStore store(path, budget);
    std::uint64_t next = begin;
    while (has(store, next)) ++next;
    found += next - begin;
    // One record at most was torn, and it is no entry.
    CHECK_FALSE(has(store, next + 1));
    CHECK(store.totals().damaged == 0);
    CHECK(bytes_in_segments(path) <= budget);
    begin = next + 1000;
  }
  CHECK(found > 0);
  DirectoryStore store(path, budget);
  CHECK(store.totals().entries == found);
}

TEST_CASE("Cache directory: a full disk stops the filling and nothing else") {
  const TemporaryFolder folder;
  const std::string disk = folder.make_folder("disk");
  if (::mount("none", disk.c_str(), "tmpfs", 0, "size=2m,mode=0700") != 0) {
    WARN("this user cannot mount a small disk");
    return;
  }
  {
    DirectoryStore store(disk + "/cache", budget);
    std::uint64_t added = 0;
    for (std::uint64_t i = 0; i < 200; ++i) added += add(store, i) == Kept::added ? 1 : 0;
    CHECK(added > 10);
    CHECK(added < 100);
    CHECK_THAT(store.full(), Contains("No space left"));
    for (std::uint64_t i = 0; i < added; ++i) CHECK(has(store, i));
  }
  {
    DirectoryStore again(disk + "/cache", budget);
    CHECK(has(again, 0));
  }
  CHECK(::umount(disk.c_str()) == 0);
}
