// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "webdataset_support.hpp"

using namespace webdataset_test;

TEST_CASE("webdataset: a label that is no integer is a bad sample", "[webdataset]") {
  TarWriter tar;
  tar.add("0.cls", " 12 \n")
      .add("1.cls", "")
      .add("2.cls", "1.5")
      .add("3.cls", "9223372036854775808");
  tar.add("4.cls", "-9223372036854775808").add("5.cls", "12 13");
  const TemporaryFolder folder;
  const auto source = open(folder.write("a.tar", tar.finished()));
  CHECK(part_bytes(*source, 0) == Strings{as_bytes(12)});
  CHECK(part_bytes(*source, 4) == Strings{as_bytes(INT64_MIN)});
  for (const std::uint64_t bad : {1, 2, 3, 5}) {
    CHECK_THROWS_AS(part_bytes(*source, bad), bc::BadSample);
  }
}

TEST_CASE("webdataset: a shard cut off anywhere is refused, with its name", "[webdataset]") {
  const std::string whole = shard_of(0, 3).bytes();
  const TemporaryFolder folder;
  for (std::size_t length = 0; length <= whole.size(); length += 256) {
    INFO("cut at " << length);
    const std::string plain = folder.write("cut.tar", whole.substr(0, length));
    CHECK_THROWS_AS(open(plain), bc::BadDataset);
    CHECK_THROWS_WITH(open(plain), Contains("cut.tar") && Contains("at byte"));
    const std::string packed = folder.write("cut.tar.gz", gzip_of(whole.substr(0, length)));
    CHECK_THROWS_AS(open(packed), bc::BadDataset);
  }
  CHECK(open(folder.write("cut.tar", whole + std::string(512, '\0')))->size() == 3);

  const std::string packed = gzip_of(shard_of(0, 3).finished());
  for (std::size_t length = 0; length + 1100 < packed.size(); length += 101) {
    INFO("gzip cut at " << length);
    CHECK_THROWS_AS(open(folder.write("cut.tgz", packed.substr(0, length))), bc::BadDataset);
  }
  CHECK_THROWS_WITH(open(folder.write("short.tar", whole.substr(0, 1200))),
                    Contains("short.tar") && Contains("at byte 1024"));
}

TEST_CASE("webdataset: a broken header, a sparse member and other files are refused",
          "[webdataset]") {
  const TemporaryFolder folder;
  std::string broken = shard_of(0, 3).finished();
  const std::size_t second = broken.find("train/1.jpg");
  broken[second] = 'X';
  CHECK_THROWS_WITH(open(folder.write("b.tar", broken)),
                    Contains("b.tar") && Contains("at byte " + std::to_string(second)));
  CHECK_THROWS_AS(open(folder.write("noise.tar", std::string(5000, 'z'))), bc::BadDataset);
  CHECK_THROWS_AS(open(folder.write("zeros.tar", std::string(5120, '\0'))), bc::BadDataset);
  CHECK_THROWS_AS(open(folder.path() + "/none.tar"), bc::BadDataset);
  CHECK_THROWS_WITH(open(folder / "b-{0..3}.tar"), Contains("b-0.tar"));
  std::filesystem::create_directory(folder / "dir.tar");
  CHECK_THROWS_AS(open(folder / "dir.tar"), bc::BadDataset);
  REQUIRE(::mkfifo((folder / "pipe.tar").c_str(), 0600) == 0);  // no process writes to it
  CHECK_THROWS_WITH(open(folder / "pipe.tar"), Contains("is not a regular file"));

  std::filesystem::resize_file(folder.write("0.txt", "begin"), 1'000'000);
  const std::string command = "cd '" + folder.path() + "' && tar -S --format=";
  for (const std::string kind : {"gnu -cf s.tar 0.txt", "pax --sparse-version=1.0 -cf s.tar 0.txt",
                                 "pax --sparse-version=0.1 -cf s.tar 0.txt"}) {
    INFO(kind);
    REQUIRE(std::system((command + kind).c_str()) == 0);
    CHECK_THROWS_WITH(open(folder / "s.tar"), Contains("sparse"));
  }
}

TEST_CASE("webdataset: bytes behind the end mark are spoken of", "[webdataset]") {
  const TemporaryFolder folder;
  const std::string one = shard_of(0, 2).finished();
  const auto source = open(folder.write("cat.tar", one + one));
  CHECK(source->size() == 2);
  CHECK_THAT(joined(source->remarks()), Contains("cat.tar") && Contains("not read"));
}

TEST_CASE("webdataset: a shard that shrinks or vanishes is a bad sample", "[webdataset]") {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.tar", shard_of(0, 3).finished());
  const auto source = open(path);
  std::filesystem::resize_file(path, 2000);
  CHECK_THROWS_AS(part_bytes(*source, 2), bc::BadSample);
  CHECK_NOTHROW(part_bytes(*source, 0));
}

TEST_CASE("webdataset: more shards than the process may open files", "[webdataset]") {
  const TemporaryFolder folder;
  constexpr int shards = 1100;
  for (int i = 0; i < shards; ++i) {
    folder.write("s-" + std::to_string(i) + ".tar",
                 TarWriter().add("0.txt", std::to_string(i)).finished());
  }
  const auto source = open(folder / "s-{0..1099}.tar");
  REQUIRE(source->size() == shards);
  const auto check_from = [&](int first) {
    bool good = true;
    for (int i = 0; i < 2 * shards; ++i) {
      const int sample = (first + 7 * i) % shards;
      good = good && part_bytes(*source, static_cast<std::uint64_t>(sample)) ==
                         Strings{std::to_string(sample)};
    }
    return good;
  };
  bool other_good = false;
  std::thread other([&] { other_good = check_from(500); });
  CHECK(check_from(0));
  other.join();
  CHECK(other_good);

  std::size_t open_files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++open_files;
  }
  CHECK(open_files < shards);
  for (int i = 0; i < shards; ++i) {
    std::filesystem::resize_file(folder / ("s-" + std::to_string(i) + ".tar"), 700);
  }
  std::size_t bad = 0;
  bc::SampleParts parts;
  for (std::uint64_t i = 0; i < source->size(); ++i) {
    try {
      source->read(i, parts);
    } catch (const bc::BadSample&) {
      ++bad;
    }
  }
  CHECK(bad > 0);
}
