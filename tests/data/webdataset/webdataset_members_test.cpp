// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "webdataset_support.hpp"

using namespace webdataset_test;

// Members that do not stand as the webdataset library writes them: unsorted, and as links.

namespace {

using Members = std::vector<std::pair<std::string, std::string>>;

TarWriter tar_of(const Members& members) {
  TarWriter tar;
  for (const auto& [name, bytes] : members) tar.add(name, bytes);
  return tar;
}

// Keys whose order as texts is neither that of their numbers nor descending.
Members members_of(int samples) {
  Members members;
  for (int i = 0; i < samples; ++i) {
    const std::string key = "train/" + std::to_string(i * 7 % samples);
    members.emplace_back(key + ".jpg", "jpg of " + key);
    members.emplace_back(key + ".CLS", std::to_string(i));
    members.emplace_back(key + ".seg.png", "png of " + key);
  }
  return members;
}

}  // namespace

TEST_CASE("webdataset: members in any order make the samples that they make sorted",
          "[webdataset]") {
  constexpr int samples = 60;
  const TemporaryFolder folder;
  const auto sorted = open(folder.write("sorted.tar", tar_of(members_of(samples)).finished()));
  CHECK(sorted->remarks().empty());

  const unsigned seed = std::random_device()();
  INFO("seed " << seed);
  Members shuffled = members_of(samples);
  std::shuffle(shuffled.begin(), shuffled.end(), std::mt19937(seed));
  Strings keys;
  for (const auto& [name, bytes] : shuffled) {
    const std::string key = name.substr(0, name.find('.'));
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
  }
  const std::string plain = tar_of(shuffled).finished();
  folder.write("u.tar", plain);
  folder.write("u.tar.gz", gzip_of(plain));
  for (const std::string name : {"u.tar", "u.tar.gz"}) {
    INFO(name);
    const auto source = open(folder / name);
    REQUIRE(source->size() == samples);
    CHECK_THAT(joined(source->remarks()),
               Contains("samples have members that do not stand side by side") &&
                   Contains(name + "/") && Contains("tar --sort=name"));
    Strings names;
    for (int i = 0; i < samples; ++i) {
      const auto id = static_cast<std::uint64_t>(i);
      names.push_back(source->name_of(id).substr(name.size() + 1));
      const std::string& key = names.back();
      bool good = false;
      for (std::uint64_t other = 0; other < samples && !good; ++other) {
        if (sorted->name_of(other) != "sorted.tar/" + key) continue;
        // The parts may have come in another order.
        Strings ours = part_bytes(*source, id);
        Strings theirs = part_bytes(*sorted, other);
        std::sort(ours.begin(), ours.end());
        std::sort(theirs.begin(), theirs.end());
        good = ours == theirs;
      }
      CHECK(good);
    }
    // In the order in which their first members stand.
    CHECK(names == keys);
  }
}

TEST_CASE("webdataset: joining leaves other shards, and sorted ones, as they are", "[webdataset]") {
  const TemporaryFolder folder;
  folder.write("a.tar", TarWriter().add("9.txt", "a9").add("9.cls", "1").finished());
  folder.write(
      "b.tar",
      tar_of({{"9.txt", "b9"}, {"8.txt", "b8"}, {"8.cls", "2"}, {"9.cls", "3"}}).finished());
  folder.write("c.tar", TarWriter().add("9.txt", "c9").add("9.cls", "4").finished());
  const auto source = open(folder / "{a,b,c}.tar");
  REQUIRE(source->size() == 4);
  CHECK(part_bytes(*source, 0) == Strings{"a9", as_bytes(1)});
  CHECK(part_bytes(*source, 1) == Strings{"b9", as_bytes(3)});
  CHECK(part_bytes(*source, 2) == Strings{"b8", as_bytes(2)});
  CHECK(part_bytes(*source, 3) == Strings{"c9", as_bytes(4)});
  CHECK(source->name_of(1) == "b.tar/9");
  CHECK(source->name_of(3) == "c.tar/9");
  CHECK_THAT(joined(source->remarks()), Contains("1 samples") && Contains("b.tar/9"));
}

TEST_CASE("webdataset: a key that comes again with parts that its sample has is another sample",
          "[webdataset]") {
  const TemporaryFolder folder;
  const auto source = open(folder.write("a.tar", tar_of({{"1.txt", "old"},
                                                         {"1.cls", "1"},
                                                         {"0.txt", "other"},
                                                         {"0.cls", "2"},
                                                         {"1.txt", "new"},
                                                         {"1.cls", "3"}})
                                                     .finished()));
  REQUIRE(source->size() == 3);
  CHECK(part_bytes(*source, 0) == Strings{"old", as_bytes(1)});
  CHECK(part_bytes(*source, 2) == Strings{"new", as_bytes(3)});
  CHECK(source->remarks().empty());
}

TEST_CASE("webdataset: hard links are members with the bytes of their targets", "[webdataset]") {
  TarWriter tar;
  tar.add("./0.JPG", "zero").add("./0.cls", "5").add_hard_link("./1.jpg", "./0.JPG");
  tar.add("1.cls", "6").add("2.jpg", "two").add_hard_link("2.cls", "1.cls");
  tar.add_hard_link("3.jpg", "2.jpg").add_hard_link("3.cls", "2.cls");
  // Some writers state the target's size, though no bytes follow.
  tar.add_raw(bc::test::tar_header("4.jpg", 4, '1', "0.jpg")).add("4.cls", "7");
  const TemporaryFolder folder;
  folder.write("a.tar", tar.finished());
  folder.write("a.tar.gz", gzip_of(tar.finished()));
  for (const std::string name : {"a.tar", "a.tar.gz"}) {
    const auto source = open(folder / name);
    REQUIRE(source->size() == 5);
    CHECK(part_bytes(*source, 1) == Strings{"zero", as_bytes(6)});
    CHECK(part_bytes(*source, 2) == Strings{"two", as_bytes(6)});
    CHECK(part_bytes(*source, 3) == Strings{"two", as_bytes(6)});
    CHECK(part_bytes(*source, 4) == Strings{"zero", as_bytes(7)});
  }
  // No member of another shard, and none that has not come yet.
  folder.write("b.tar", TarWriter().add_hard_link("9.txt", "0.cls").finished());
  CHECK_THROWS_WITH(open(folder / "{a,b}.tar"),
                    Contains("b.tar/9.txt") && Contains("0.cls") && Contains("--hard-dereference"));
}

TEST_CASE("webdataset: hard links as tar writes them", "[webdataset]") {
  const TemporaryFolder folder;
  folder.write("0.jpg", "same");
  const std::string command = "cd '" + folder.path() + "' && ln 0.jpg 1.jpg && echo 1 >0.cls && " +
                              "echo 2 >1.cls && tar --sort=name --format=";
  for (const std::string format : {"gnu", "pax"}) {
    const std::string call =
        format == "gnu" ? command : "cd '" + folder.path() + "' && tar --sort=name --format=";
    REQUIRE(std::system((call + format + " -cf t.tar 0.cls 0.jpg 1.cls 1.jpg").c_str()) == 0);
    const auto source = open(folder / "t.tar");
    REQUIRE(source->size() == 2);
    CHECK(part_bytes(*source, 0) == Strings{as_bytes(1), "same"});
    CHECK(part_bytes(*source, 1) == Strings{as_bytes(2), "same"});
  }
}

TEST_CASE("webdataset: nothing but symbolic links is refused with how to pack them",
          "[webdataset]") {
  const TemporaryFolder folder;
  folder.write("a.tar", TarWriter().add_link("0.jpg", "/data/0.jpg").finished());
  CHECK_THROWS_WITH(open(folder / "a.tar"), Contains("a.tar/0.jpg") && Contains("tar -h"));
}

TEST_CASE("webdataset: archives of other kinds are refused with how to unpack them",
          "[webdataset]") {
  using namespace std::string_literals;
  const TemporaryFolder folder;
  const std::string rest(600, 'x');
  folder.write("a.tar.xz", "\xfd\x37zXZ\0"s + rest);
  folder.write("a.tar.bz2", "BZh91AY&SY" + rest);
  folder.write("a.tar.lz4", "\x04\x22\x4d\x18" + rest);
  folder.write("a.tar", "PK\x03\x04" + rest);
  const auto all = Contains(".tar, .tar.gz or .tar.zst");
  CHECK_THROWS_WITH(open(folder / "a.tar.xz"), all && Contains("xz -dk " + (folder / "a.tar.xz")));
  CHECK_THROWS_WITH(open(folder / "a.tar.bz2"), all && Contains("bzip2 -dk"));
  CHECK_THROWS_WITH(open(folder / "a.tar.lz4"), all && Contains("lz4 -dk"));
  CHECK_THROWS_WITH(open(folder / "a.tar"), all && Contains("zip"));
  std::filesystem::remove(folder / "a.tar");
  CHECK_THROWS_WITH(open(folder.path()), Contains(".tar.zst") && Contains("unpack a.tar.bz2"));
}
