// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/error.hpp>
#include <batchcast/data/source.hpp>

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "catch.hpp"
#include "source_support.hpp"

using batchcast::BadDataset;
using batchcast::DType;
using batchcast::InvalidArgument;
using batchcast::open_source;
using source_test::bytes_of;
using source_test::mentions;
using source_test::refusal_to_open;
using source_test::TemporaryFolder;
using source_test::values_of;

namespace {

// first, first + 1, ...
template <class T>
std::string counting(std::size_t count, T first = 0) {
  std::vector<T> tokens(count);
  std::iota(tokens.begin(), tokens.end(), first);
  return bytes_of(tokens);
}

using Tokens = std::vector<std::uint16_t>;

}  // namespace

TEST_CASE("windows of tokens follow each other and share one token") {
  const TemporaryFolder folder;
  const std::string spec = "tokens:" + folder.write("train.bin", counting<std::uint16_t>(13));
  const auto source = open_source(spec + "?length=4");
  REQUIRE(source->size() == 3);
  CHECK(source->parts() ==
        std::vector<batchcast::PartSpec>{{.name = "tokens", .dtype = DType::u16, .shape = {5}}});
  CHECK(values_of<std::uint16_t>(*source, 0, 0) == Tokens{0, 1, 2, 3, 4});
  CHECK(values_of<std::uint16_t>(*source, 1, 0) == Tokens{4, 5, 6, 7, 8});
  CHECK(values_of<std::uint16_t>(*source, 2, 0) == Tokens{8, 9, 10, 11, 12});
  CHECK(source->name_of(1) == "train.bin[4:9]");
  CHECK(source->in_memory());
  CHECK(open_source(spec + "?length=5")->size() == 2);
  CHECK(open_source(spec + "?length=6")->size() == 2);
  CHECK(open_source(spec + "?length=12")->size() == 1);
}

TEST_CASE("windows may overlap, or leave out what lies between them") {
  const TemporaryFolder folder;
  const std::string spec = "tokens:" + folder.write("t.bin", counting<std::uint16_t>(10));
  const auto each = open_source(spec + "?length=3&stride=1");
  REQUIRE(each->size() == 7);
  CHECK(values_of<std::uint16_t>(*each, 6, 0) == Tokens{6, 7, 8, 9});
  const auto few = open_source(spec + "?length=3&stride=6");
  REQUIRE(few->size() == 2);
  CHECK(values_of<std::uint16_t>(*few, 1, 0) == Tokens{6, 7, 8, 9});
  CHECK(open_source(spec + "?length=3&stride=7")->size() == 1);
  CHECK(open_source(spec + "?length=3&stride=18446744073709551615")->size() == 1);
}

TEST_CASE("a pair is a window's tokens and those that follow them") {
  const TemporaryFolder folder;
  const std::string file = folder.write("t.bin", counting<std::int32_t>(9, -2));
  const auto source = open_source("tokens:" + file + "?dtype=i32&length=4&pairs=true");
  REQUIRE(source->size() == 2);
  CHECK(source->parts() ==
        std::vector<batchcast::PartSpec>{{.name = "input", .dtype = DType::i32, .shape = {4}},
                                         {.name = "target", .dtype = DType::i32, .shape = {4}}});
  CHECK(values_of<std::int32_t>(*source, 1, 0) == std::vector<std::int32_t>{2, 3, 4, 5});
  CHECK(values_of<std::int32_t>(*source, 1, 1) == std::vector<std::int32_t>{3, 4, 5, 6});
}

TEST_CASE("no window crosses from one file to the next") {
  const TemporaryFolder folder;
  folder.write("part_b.bin", counting<std::uint16_t>(7, 100));
  folder.write("part_a.bin", counting<std::uint16_t>(5, 0));
  folder.write("part_c.bin", counting<std::uint16_t>(2, 200));
  folder.write("part_d.bin", counting<std::uint16_t>(3, 300));
  const std::vector<Tokens> expected = {{0, 1, 2},       {2, 3, 4},       {100, 101, 102},
                                        {102, 103, 104}, {104, 105, 106}, {300, 301, 302}};
  const std::string list = folder.path("part_a.bin") + "," + folder.path("part_b.bin") + "," +
                           folder.path("part_[cd].bin");
  for (const std::string& files : {folder.path("part_?.bin"), list}) {
    const auto source = open_source("tokens:" + files + "?length=2");
    REQUIRE(source->size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      CHECK(values_of<std::uint16_t>(*source, i, 0) == expected[i]);
    }
    CHECK(source->name_of(5) == "part_d.bin[0:3]");
    REQUIRE(source->remarks().size() == 1);
    CHECK(mentions(source->remarks()[0], {"part_c.bin", "2 tokens"}));
  }
  CHECK(mentions(refusal_to_open<BadDataset>("tokens:" + folder.path("no*.bin") + "?length=2"),
                 {"no*.bin", "no file"}));
}

TEST_CASE("a header is passed over") {
  const TemporaryFolder folder;
  const std::string file = folder.write("t.bin", std::string(5, 'h') + counting<std::uint16_t>(3));
  const auto source = open_source("tokens:" + file + "?length=2&header=5");
  REQUIRE(source->size() == 1);
  CHECK(values_of<std::uint16_t>(*source, 0, 0) == Tokens{0, 1, 2});
  CHECK(mentions(refusal_to_open<BadDataset>("tokens:" + file + "?length=2&header=12"),
                 {"shorter than its header"}));
}

TEST_CASE("token files that are too short, cut or missing are refused") {
  const TemporaryFolder folder;
  const std::string four = "tokens:" + folder.write("4.bin", counting<std::uint16_t>(4));
  CHECK(mentions(refusal_to_open<BadDataset>(four + "?length=4"), {"too short", "4 + 1", "4."}));
  CHECK(
      mentions(refusal_to_open<BadDataset>(four + "?length=18446744073709551615"), {"too short"}));
  CHECK(open_source(four + "?length=3")->size() == 1);
  CHECK(mentions(refusal_to_open<BadDataset>("tokens:" + folder.write("0.bin", "") + "?length=1"),
                 {"too short"}));
  CHECK(mentions(
      refusal_to_open<BadDataset>("tokens:" + folder.write("7.bin", "1234567") + "?length=1"),
      {"7 bytes", "u16"}));
  CHECK(mentions(refusal_to_open<BadDataset>("tokens:" + folder.path("none.bin") + "?length=1"),
                 {"No such file"}));
}

TEST_CASE("options of tokens are checked") {
  CHECK(mentions(refusal_to_open<InvalidArgument>("tokens:t.bin"), {"length"}));
  CHECK(mentions(refusal_to_open<InvalidArgument>("tokens:t.bin?length=0"), {"`length`", "0"}));
  CHECK(mentions(refusal_to_open<InvalidArgument>("tokens:t.bin?length=4&stride=0"), {"`stride`"}));
  CHECK(mentions(refusal_to_open<InvalidArgument>("tokens:t.bin?length=4&dtype=f32"),
                 {"`f32`", "`u32`"}));
  CHECK(mentions(refusal_to_open<InvalidArgument>("tokens:t.bin?lenght=4"), {"`length`?"}));
}

TEST_CASE("the fingerprint of tokens is of names, sizes and windows") {
  const TemporaryFolder folder;
  const std::string spec = "tokens:" + folder.write("t.bin", counting<std::uint16_t>(100));
  const auto first = open_source(spec + "?length=4")->fingerprint();
  const auto same = [&](const std::string& other) {
    return open_source(other)->fingerprint() == first;
  };
  CHECK(same("tokens:" + folder.write("copy/t.bin", counting<std::uint16_t>(100)) + "?length=4"));
  CHECK(same(spec + "?length=4&stride=4&dtype=u16&pairs=false"));
  CHECK_FALSE(same(spec + "?length=5"));
  CHECK_FALSE(same(spec + "?length=4&stride=3"));
  CHECK_FALSE(same(spec + "?length=4&pairs=true"));
  CHECK_FALSE(same(spec + "?length=4&dtype=i16"));
  CHECK_FALSE(same("tokens:" + folder.write("u.bin", counting<std::uint16_t>(100)) + "?length=4"));
  CHECK_FALSE(same("tokens:" + folder.write("t.bin", counting<std::uint16_t>(101)) + "?length=4"));
}
