// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <fcntl.h>
#include <sys/stat.h>

#include <batchcast/data/source.hpp>

#include "catch.hpp"
#include "temporary_folder.hpp"

#include <array>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

using namespace batchcast;
using batchcast::testing::TemporaryFolder;

namespace {

Fingerprint id_of(const Source& source, std::uint64_t sample) {
  const auto key = source.key_of(sample, 0);
  REQUIRE(key.has_value());
  CHECK(key->changed_ns > 1'000'000'000'000'000'000);
  return key->id;
}

/// A member of a tar file, padded.
std::string member(const std::string& name, const std::string& content) {
  std::array<char, 512> head{};
  std::snprintf(head.data(), 100, "%s", name.c_str());
  std::snprintf(head.data() + 100, 8, "%07o", 0644);
  std::snprintf(head.data() + 124, 12, "%011zo", content.size());
  std::snprintf(head.data() + 136, 12, "%011o", 0);
  head[156] = '0';
  std::memcpy(head.data() + 257, "ustar", 6);
  std::memcpy(head.data() + 263, "00", 2);
  std::memset(head.data() + 148, ' ', 8);
  unsigned sum = 0;
  for (const char letter : head) sum += static_cast<unsigned char>(letter);
  std::snprintf(head.data() + 148, 8, "%06o", sum);
  std::string text(head.data(), head.size());
  text += content;
  text.resize((text.size() + 511) / 512 * 512);
  return text;
}

}  // namespace

TEST_CASE("Keys of files: each file has one, which changes with the file") {
  const TemporaryFolder folder;
  folder.write("data/cat/1.jpg", "one");
  folder.write("data/cat/2.jpg", "two");
  const auto source = open_source("imagefolder:" + folder.path("data"));
  const Fingerprint first = id_of(*source, 0);
  CHECK(id_of(*source, 0) == first);
  CHECK(id_of(*source, 1) != first);
  CHECK_FALSE(source->key_of(0, 1).has_value());

  // The same size, in place, with the old time of modification: the ctime tells.
  const std::string path = folder.path("data/cat/1.jpg");
  struct stat before = {};
  REQUIRE(::stat(path.c_str(), &before) == 0);
  struct stat after = before;
  while (after.st_ctim.tv_nsec == before.st_ctim.tv_nsec &&
         after.st_ctim.tv_sec == before.st_ctim.tv_sec) {
    folder.write("data/cat/1.jpg", "eno");
    const std::array<timespec, 2> times = {before.st_atim, before.st_mtim};
    REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times.data(), 0) == 0);
    REQUIRE(::stat(path.c_str(), &after) == 0);
  }
  CHECK(id_of(*source, 0) != first);

  const Fingerprint second = id_of(*source, 1);
  folder.write("data/new", "two");
  std::filesystem::rename(folder.path("data/new"), folder.path("data/cat/2.jpg"));
  CHECK(id_of(*source, 1) != second);
  std::filesystem::remove(folder.path("data/cat/2.jpg"));
  CHECK_FALSE(source->key_of(1, 0).has_value());
}

TEST_CASE("Keys of files: an image folder gives a label without its file") {
  const TemporaryFolder folder;
  folder.write("data/cat/1.jpg", "one");
  folder.write("data/dog/2.jpg", "two");
  const auto source = open_source("imagefolder:" + folder.path("data"));
  std::filesystem::remove(folder.path("data/dog/2.jpg"));
  SampleParts parts;
  const std::array<std::uint8_t, 2> label = {0, 1};
  source->read_wanted(1, label, parts);
  std::int64_t value = 0;
  std::memcpy(&value, parts[1].data(), sizeof value);
  CHECK(value == 1);
}

TEST_CASE("Keys of files: members of shards, whose other parts are read alone") {
  const TemporaryFolder folder;
  const std::string tar = member("a.cls", "4") + member("a.jpg", "image a") + member("b.cls", "9") +
                          member("b.jpg", "image b") + std::string(1024, '\0');
  folder.write("s.tar", tar);
  const auto source = open_source("webdataset:" + folder.path("s.tar"));
  std::size_t image = 0;
  while (source->parts()[image].kind != PartKind::image) ++image;
  const std::size_t label = 1 - image;
  const auto first = source->key_of(0, image);
  const auto second = source->key_of(1, image);
  REQUIRE(first.has_value());
  REQUIRE(second.has_value());
  CHECK(first->id != second->id);
  CHECK(source->key_of(0, image)->id == first->id);
  std::vector<std::uint8_t> wanted(2, 0);
  wanted[label] = 1;
  SampleParts parts;
  source->read_wanted(1, wanted, parts);
  std::int64_t value = 0;
  std::memcpy(&value, parts[label].data(), sizeof value);
  CHECK(value == 9);
  wanted = {1, 1};
  source->read_wanted(0, wanted, parts);
  CHECK(std::string(reinterpret_cast<const char*>(parts[image].data()), parts[image].size()) ==
        "image a");
}
