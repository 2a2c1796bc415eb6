// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <clocale>
#include <cstdlib>
#include <string>
#include <thread>

#include "data/webdataset/pattern.hpp"
#include "webdataset_support.hpp"

using namespace webdataset_test;

namespace {

std::string npy_of(const std::string& shape, const std::string& data) {
  std::string head = "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }";
  head.resize(117, ' ');
  head += '\n';
  return std::string("\x93NUMPY\x01\x00\x76\x00", 10) + head + data;
}

}  // namespace

TEST_CASE("webdataset: braces count, list and multiply", "[webdataset]") {
  using bc::detail::expand_braces;
  CHECK(expand_braces("a-{008..011}.tar") ==
        Strings{"a-008.tar", "a-009.tar", "a-010.tar", "a-011.tar"});
  CHECK(expand_braces("{8..10}") == Strings{"8", "9", "10"});
  CHECK(expand_braces("{2..0}") == Strings{"2", "1", "0"});
  CHECK(expand_braces("{0..010}").front() == "000");
  CHECK(expand_braces("{a,b{0..1}}x,c") == Strings{"ax", "b0x", "b1x", "c"});
  CHECK(expand_braces("{0..1}{0..1}") == Strings{"00", "01", "10", "11"});
  CHECK_THROWS_AS(expand_braces("a{0..x}"), bc::InvalidArgument);
  CHECK_THROWS_AS(expand_braces("a{0..1"), bc::InvalidArgument);
  CHECK_THROWS_AS(expand_braces("a}"), bc::InvalidArgument);
  CHECK_THROWS_AS(expand_braces("a,,b"), bc::InvalidArgument);
  CHECK_THROWS_AS(expand_braces("{x}"), bc::InvalidArgument);
  CHECK_THROWS_AS(expand_braces("{0..18446744073709551615}"), bc::InvalidArgument);
  CHECK_THROWS_AS(expand_braces("{0..999}{0..999}{0..999}"), bc::InvalidArgument);
  CHECK(expand_braces("{18446744073709551614..18446744073709551615}").size() == 2);
}

TEST_CASE("webdataset: shards are found by pattern, folder and star, in the order of bytes",
          "[webdataset]") {
  const TemporaryFolder folder;
  for (const char* name : {"b.tar", "B.tar", "a.tar.gz", "c.tgz", "d.tar.zst", "x.txt"}) {
    folder.write(name, "");
  }
  using bc::detail::find_shards;
  CHECK(find_shards(folder.path()) == Strings{folder / "B.tar", folder / "a.tar.gz",
                                              folder / "b.tar", folder / "c.tgz",
                                              folder / "d.tar.zst"});
  CHECK(find_shards(folder / "*.tar") == Strings{folder / "B.tar", folder / "b.tar"});
  CHECK(find_shards(folder / "c.tgz" + "," + (folder / "?.tar")) ==
        Strings{folder / "c.tgz", folder / "B.tar", folder / "b.tar"});
  CHECK_THROWS_WITH(find_shards(folder / "*.zip"), Contains("*.zip"));
}

TEST_CASE("webdataset: two shards are one dataset, read in any order by any thread",
          "[webdataset]") {
  const TemporaryFolder folder;
  folder.write("s-0.tar", shard_of(0, 40).finished());
  folder.write("s-1.tar", shard_of(1, 25).finished());
  const auto source = open(folder / "s-{0..1}.tar");
  REQUIRE(source->size() == 65);
  CHECK(part_names(*source) == Strings{"image", "label"});
  CHECK(source->parts()[0].kind == bc::PartKind::image);
  CHECK(source->parts()[1] == bc::PartSpec{.name = "label", .dtype = bc::DType::i64});
  CHECK(source->name_of(0) == "s-0.tar/train/0");
  CHECK(source->name_of(41) == "s-1.tar/train/101");
  CHECK(source->remarks().empty());
  CHECK_FALSE(source->in_memory());

  const auto check_from = [&](std::uint64_t first) {
    bool good = true;
    for (std::uint64_t i = 0; i < 650; ++i) {
      const std::uint64_t sample = (first + 37 * i) % 65;
      const int shard = sample < 40 ? 0 : 1;
      const int n = static_cast<int>(sample) - 40 * shard;
      good = good && part_bytes(*source, sample) == Strings{text_of(shard, n), as_bytes(n)};
    }
    return good;
  };
  bool other_good = false;
  std::thread other([&] { other_good = check_from(11); });
  CHECK(check_from(0));
  other.join();
  CHECK(other_good);
}

TEST_CASE("webdataset: long names, and compressed shards, are the same samples", "[webdataset]") {
  const std::string deep = std::string(90, 'd') + "/" + std::string(120, 'k');
  TarWriter tar;
  tar.add_pax(deep + ".jpg", "first").add_gnu(deep + ".cls", "7");
  tar.add_gnu(deep + "2.jpg", std::string(3000, 'x')).add(std::string(60, 's') + ".txt", "");
  TarWriter plain;
  plain.add_pax(deep + ".jpg", "first").add_gnu(deep + ".cls", "7");
  plain.add_gnu(deep + "2.jpg", std::string(3000, 'x')).add_pax(deep + "2.cls", "-8");

  const TemporaryFolder folder;
  folder.write("p.tar", plain.finished());
  folder.write("p.tar.gz", gzip_of(plain.finished()));
  folder.write("p.tar.zst", zstd_of(plain.finished()));
  for (const std::string name : {"p.tar", "p.tar.gz", "p.tar.zst"}) {
    for (const std::string options : {"", "unpack=memory"}) {
      INFO(name << "?" << options);
      const auto source = open(folder / name, options);
      REQUIRE(source->size() == 2);
      CHECK(source->name_of(1) == name + "/" + deep + "2");
      CHECK(part_bytes(*source, 0) == Strings{"first", as_bytes(7)});
      CHECK(part_bytes(*source, 1) == Strings{std::string(3000, 'x'), as_bytes(-8)});
      CHECK(source->in_memory() == (name != "p.tar" && !options.empty()));
      if (name != "p.tar") CHECK_THAT(joined(source->remarks()), Contains("unpacked: 1"));
    }
  }
}

TEST_CASE("webdataset: what tools write is read", "[webdataset]") {
  const TemporaryFolder folder;
  folder.write("0.jpg", "zero");
  folder.write("0.cls", "3");
  const std::string long_name = std::string(150, 'n');
  folder.write(long_name + ".jpg", std::string(2000, 'y'));
  folder.write(long_name + ".cls", "4");
  for (const std::string format : {"gnu", "pax"}) {
    const std::string shard = folder / (format + ".tgz");
    const std::string command = "cd '" + folder.path() + "' && tar --format=" + format + " -czf " +
                                shard + " 0.jpg 0.cls ./" + long_name + ".jpg ./" + long_name +
                                ".cls";
    REQUIRE(std::system(command.c_str()) == 0);
    const auto source = open(shard);
    REQUIRE(source->size() == 2);
    CHECK(part_bytes(*source, 0) == Strings{"zero", as_bytes(3)});
    CHECK(part_bytes(*source, 1) == Strings{std::string(2000, 'y'), as_bytes(4)});
    CHECK(source->name_of(1) == format + ".tgz/" + long_name);
  }
}

TEST_CASE("webdataset: extensions become parts", "[webdataset]") {
  const TemporaryFolder folder;
  const auto names_of = [&](const Strings& members) {
    TarWriter tar;
    for (const std::string& member : members) tar.add(member, "1");
    const auto source = open(folder.write("x.tar", tar.finished()));
    return part_names(*source);
  };
  CHECK(names_of({"a.JPG", "a.cls", "b.cls", "b.png"}) == Strings{"image", "label"});
  CHECK(names_of({"a.input.jpg", "a.json"}) == Strings{"image", "json"});
  CHECK(names_of({"a.input.jpg", "a.target.png"}) == Strings{"input.jpg", "target.png"});
  CHECK(names_of({"a.input.jpg", "a.t.png", "b.input.webp", "b.t.png"}) ==
        Strings{"input.image", "t.png"});
  CHECK(names_of({"a.jpg", "a.png"}) == Strings{"jpg", "png"});
  CHECK(names_of({"a.jpg", "a.seg.png"}) == Strings{"jpg", "seg.png"});
  CHECK(names_of({"a.cls", "a.label", "a.index"}) == Strings{"cls", "label", "index"});
  CHECK(names_of({"a.jpg", "a.image"}) == Strings{"jpg", "image"});
  CHECK(names_of({"v1.0/a.txt", "v1.0/b.txt"}) == Strings{"txt"});
}

TEST_CASE("webdataset: what is no part of a sample is left out, and said to be", "[webdataset]") {
  TarWriter tar;
  tar.add_folder("train")
      .add("train/.hidden.jpg", "x")
      .add("README", "x")
      .add_link("l.jpg", "a.jpg");
  tar.add("./train/0.jpg", "zero").add_folder("train/0.cls.d").add("train/0.txt", "t");
  const TemporaryFolder folder;
  const auto source = open(folder.write("x.tar", tar.finished()));
  REQUIRE(source->size() == 1);
  CHECK(source->name_of(0) == "x.tar/train/0");
  CHECK(part_bytes(*source, 0) == Strings{"zero", "t"});
  CHECK_THAT(joined(source->remarks()), Contains("2 members") && Contains("train/.hidden.jpg"));
  CHECK_THAT(joined(source->remarks()),
             Contains("1 symbolic links") && Contains("x.tar/l.jpg") && Contains("tar -h"));
}

TEST_CASE("webdataset: a sample that lacks a part is refused or left out", "[webdataset]") {
  TarWriter first;
  first.add("0.jpg", "0")
      .add("0.txt", "t0")
      .add("one.txt", "t1")
      .add("2.jpg", "2")
      .add("2.txt", "t2");
  TarWriter second;
  second.add("only.jpg", "x");
  TarWriter third;
  third.add("4.txt", "t4").add("4.jpg", "4");
  const TemporaryFolder folder;
  folder.write("a.tar", first.finished());
  folder.write("b.tar", second.finished());
  folder.write("c.tar", third.finished());
  CHECK_THROWS_AS(open(folder / "{a,b,c}.tar"), bc::BadDataset);
  CHECK_THROWS_WITH(open(folder / "{a,b,c}.tar"), Contains("a.tar/one") && Contains("`image`") &&
                                                      Contains("2 of 5") &&
                                                      Contains("partial=skip"));
  const auto source = open(folder / "{a,b,c}.tar", "partial=skip");
  REQUIRE(source->size() == 3);
  CHECK(part_bytes(*source, 0) == Strings{"0", "t0"});
  CHECK(part_bytes(*source, 1) == Strings{"2", "t2"});
  CHECK(part_bytes(*source, 2) == Strings{"4", "t4"});
  CHECK(source->name_of(1) == "a.tar/2");
  CHECK(source->name_of(2) == "c.tar/4");
  CHECK_THAT(joined(source->remarks()), Contains("2 of 5"));
  CHECK_THROWS_AS(open(folder / "{b,a}.tar", "partial=ignore"), bc::InvalidArgument);
}

TEST_CASE("webdataset: the same key in two shards is two samples, a part twice is refused",
          "[webdataset]") {
  const TemporaryFolder folder;
  folder.write("a.tar", TarWriter().add("0.txt", "a").finished());
  folder.write("b.tar", TarWriter().add("0.txt", "b").finished());
  CHECK(open(folder / "[ab].tar")->size() == 2);
  folder.write("c.tar", TarWriter().add("0.txt", "a").add("0.TXT", "b").finished());
  CHECK_THROWS_WITH(open(folder / "c.tar"), Contains("c.tar/0") && Contains("twice"));
}

TEST_CASE("webdataset: too many extensions are names with dots", "[webdataset]") {
  TarWriter tar;
  for (int i = 0; i < 70; ++i) tar.add("0.1" + std::to_string(i), "x");
  const TemporaryFolder folder;
  CHECK_THROWS_WITH(open(folder.write("a.tar", tar.finished())), Contains("dots"));
}

TEST_CASE("webdataset: few extensions with dots may be names, too", "[webdataset]") {
  const TemporaryFolder folder;
  const TarWriter one = TarWriter().add("img.0.png", "a").add("img.1.png", "b");
  const auto source = open(folder.write("a.tar", one.finished()));
  CHECK(source->size() == 1);
  CHECK_THAT(joined(source->remarks()),
             Contains("1 sample has 2 extensions") && Contains("`0.png` and `1.png`"));
  const TarWriter years = TarWriter()
                              .add("a.2019.jpg", "a")
                              .add("a.2019.cls", "1")
                              .add("b.2020.jpg", "b")
                              .add("b.2020.cls", "2");
  CHECK_THROWS_WITH(open(folder.write("b.tar", years.finished())),
                    Contains("lack a part") && Contains("are there dots in the samples' names?"));
  // Two images of each sample are no names.
  TarWriter pairs;
  for (const char* key : {"0", "1", "2"}) {
    pairs.add(std::string(key) + ".hr.png", "a").add(std::string(key) + ".lr.png", "b");
  }
  CHECK(open(folder.write("c.tar", pairs.finished()))->remarks().empty());
}

TEST_CASE("webdataset: arrays have the first one's type and shape", "[webdataset]") {
  const std::string six(24, '\1');
  TarWriter tar;
  tar.add("0.npy", npy_of("(2, 3)", six)).add("1.npy", npy_of("(2,3)", std::string(24, '\2')));
  tar.add("2.npy", npy_of("(3, 2)", six)).add("3.npy", "junk");
  tar.add("4.npy", npy_of("(2, 3)", six.substr(1)));
  const TemporaryFolder folder;
  const auto source = open(folder.write("a.tar", tar.finished()));
  CHECK(source->parts()[0] ==
        bc::PartSpec{.name = "npy", .dtype = bc::DType::f32, .shape = {2, 3}});
  CHECK(part_bytes(*source, 0) == Strings{six});
  CHECK(part_bytes(*source, 1) == Strings{std::string(24, '\2')});
  CHECK_THROWS_AS(part_bytes(*source, 2), bc::BadSample);
  CHECK_THROWS_AS(part_bytes(*source, 3), bc::BadSample);
  CHECK_THROWS_AS(part_bytes(*source, 4), bc::BadSample);
  CHECK_THROWS_AS(open(folder.write("b.tar", TarWriter().add("0.npy", "x").finished())),
                  bc::BadDataset);
}

TEST_CASE("webdataset: the fingerprint is of names and sizes, wherever they lie", "[webdataset]") {
  const TemporaryFolder one;
  const TemporaryFolder two;
  const auto print = [](const TemporaryFolder& folder, const char* name, const TarWriter& tar) {
    return open(folder.write(name, tar.finished()))->fingerprint();
  };
  const bc::Fingerprint known = print(one, "a.tar", shard_of(0, 4));
  CHECK(print(two, "a.tar", shard_of(0, 4)) == known);
  CHECK_FALSE(print(two, "b.tar", shard_of(0, 4)) == known);
  CHECK_FALSE(print(two, "a.tar", shard_of(0, 5)) == known);
  CHECK_FALSE(print(two, "a.tar", shard_of(1, 4)) == known);
  CHECK(print(two, "x.tar", TarWriter().add("0.txt", "ab")) ==
        print(two, "x.tar", TarWriter().add("0.txt", "cd")));
  CHECK_FALSE(print(two, "x.tar", TarWriter().add("0.txt", "ab")) ==
              print(two, "x.tar", TarWriter().add("0.txt", "abc")));
}

TEST_CASE("webdataset: names are bytes in every locale", "[webdataset]") {
  // Decomposed, and no UTF-8 at all.
  TarWriter tar;
  tar.add_pax("e\u0301.txt", "t").add("\xff\xfe.txt", "u").add_pax("\u00e9.txt", "v");
  const TemporaryFolder folder;
  const std::string path = folder.write("a.tar", tar.finished());
  const auto plain = open(path);
  const std::string before = std::setlocale(LC_ALL, nullptr);
  if (std::setlocale(LC_ALL, "C.UTF-8") == nullptr) return;
  const auto other = open(path);
  std::setlocale(LC_ALL, before.c_str());
  CHECK(plain->fingerprint() == other->fingerprint());
  for (const auto& source : {plain.get(), other.get()}) {
    CHECK(source->name_of(0) == "a.tar/e\u0301");
    CHECK(source->name_of(1) == "a.tar/\xff\xfe");
    CHECK(source->name_of(2) == "a.tar/\u00e9");
  }
}
